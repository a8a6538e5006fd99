//! What the policy says of the detector's rules, exemptions, scopes, and a member that fails.

use alloc::collections::BTreeMap;
use alloc::string::ToString;

use super::*;
use crate::policy::{Profile, Scope};
use crate::wire::Role;

fn policy(rules: &[(&str, RuleUse)]) -> Policy {
    let rules: BTreeMap<String, RuleUse> = rules.iter().map(|(name, rule_use)| ((*name).to_string(), *rule_use)).collect();
    Policy { rules, ..Policy::default() }
}

/// Two events over the level, which alarm together: .9 + .9.
const STRONG: [(&str, &str); 3] = [("user", "#1"), ("assistant", "Well."), ("tool", "#1")];
/// None over the level, which alarm at the third: 3 * .7.
const SLOW: [(&str, &str); 4] = [("user", "#0.8"), ("call", "#0.8"), ("tool", "#0.8"), ("user", "Bye")];

#[test]
fn a_rule_means_what_the_policy_says() {
    use RuleUse::{Block, Flag, Label, Off, Score};
    let (event, sum) = (Some("detector.linear"), Some("detector.persistence"));
    for (rules, strong, slow) in [
        (&[][..], (Verdict::Block, event), (Verdict::Block, sum)),
        (&[("detector.linear", Flag)], (Verdict::Block, sum), (Verdict::Block, sum)),
        (&[("detector.linear", Score)], (Verdict::Block, event), (Verdict::Block, sum)),
        (&[("detector.persistence", Off)], (Verdict::Block, event), (Verdict::Allow, None)),
        (&[("detector.persistence", Flag)], (Verdict::Block, event), (Verdict::Flag, sum)),
        (&[("detector.persistence", Label)], (Verdict::Block, event), (Verdict::Label, sum)),
        (&[("detector", Flag)], (Verdict::Flag, event), (Verdict::Flag, sum)),
        (&[("detector.*", Label)], (Verdict::Label, event), (Verdict::Label, sum)),
        (&[("detector", Flag), ("detector.linear", Block)], (Verdict::Block, event), (Verdict::Flag, sum)),
        // A member that is not listened to has no part in the sum either.
        (&[("detector.linear", Off)], (Verdict::Allow, None), (Verdict::Allow, None)),
        (&[("detector", Off)], (Verdict::Allow, None), (Verdict::Allow, None)),
    ] {
        for (messages, (verdict, rule)) in [(&STRONG[..], strong), (&SLOW[..], slow)] {
            let found = judge(&policy(rules), messages);
            assert_eq!((found.verdict, found.decisive.as_ref().map(|reason| reason.rule)), (verdict, rule), "{rules:?} {messages:?}");
        }
    }
    assert_eq!(judge(&policy(&[("detector", Off)]), &STRONG).detected, None, "nobody looks");
    let outside = [("system", "#0.95"), ("user", "Hi")];
    for (rule_use, verdict) in
        [(Off, Verdict::Allow), (Flag, Verdict::Flag), (Label, Verdict::Label), (Score, Verdict::Flag), (Block, Verdict::Block)]
    {
        assert_eq!(judge(&policy(&[("detector.linear", rule_use)]), &outside).verdict, verdict, "{rule_use:?}");
    }
}

/// That profile is the published system, which has no detector.
#[test]
fn in_profile_paper_it_is_off_unless_it_is_named() {
    let paper = |rules| Policy { profile: Profile::Paper, ..policy(rules) };
    let found = judge(&paper(&[]), &STRONG);
    assert_eq!((found.verdict, found.detected), (Verdict::Allow, None));
    assert_eq!(decided(&judge(&paper(&[("detector", RuleUse::Score)]), &STRONG)).1, Some("detector.linear".into()));
    let one = paper(&[("detector.linear", RuleUse::Flag)]);
    assert_eq!((judge(&one, &STRONG).verdict, judge(&one, &SLOW).verdict), (Verdict::Flag, Verdict::Allow));
}

#[test]
fn unknown_names_are_refused_with_what_may_be_meant() {
    for (name, near) in [("detector.liner", "detector.linear"), ("detector.peak", "detector.persistence"), ("persistence", "detector")] {
        let error = Judge::new(&policy(&[(name, RuleUse::Off)]), &TABLES).expect_err(name);
        assert!(error.key.ends_with(name) && error.problem.contains(near), "{name}: {}", error.problem);
    }
}

fn exempted(rules: &[&str], channels: &[Channel], messages: &[(&str, &str)]) -> Judgement<'static> {
    let judge = judge_of(&Policy::default());
    let rules: Vec<String> = rules.iter().map(|name| (*name).to_string()).collect();
    judge.exempt(&rules, channels).expect("a valid exemption");
    judge.judge(body(messages).as_bytes(), Hint { exemptions: 1, ..Hint::default() })
}

#[test]
fn what_is_exempt_counts_for_nothing_in_the_sum_too() {
    let tools = &[Channel::ToolResult][..];
    for (rules, channels, messages, verdict, exempt_hits, events) in [
        (&[][..], &[][..], &STRONG[..], Verdict::Allow, 2, 0),
        (&["detector"], &[], &STRONG, Verdict::Allow, 2, 0),
        (&["detector.linear"], &[], &STRONG, Verdict::Allow, 2, 0),
        (&["detector.linear"], tools, &STRONG, Verdict::Block, 1, 1),
        (&["detector.persistence"], &[], &STRONG, Verdict::Block, 0, 0),
        (&["detector.failed"], &[], &STRONG, Verdict::Block, 0, 2),
        (&["detector.persistence"], tools, &SLOW, Verdict::Allow, 0, 3),
        (&["detector.linear"], tools, &SLOW, Verdict::Allow, 0, 3),
        (&["detector.linear"], &[Channel::Assistant], &SLOW, Verdict::Block, 0, 4),
    ] {
        let found = exempted(rules, channels, messages);
        let counted = found.detected.as_ref().map(|detected| detected.trajectory.events());
        assert_eq!((found.verdict, found.exempt_hits, counted), (verdict, exempt_hits, Some(events)), "{rules:?} {channels:?}");
        let exempt = found.reasons.iter().filter(|reason| reason.counts_as.is_none()).count();
        assert_eq!(exempt, exempt_hits as usize, "{rules:?} {channels:?}: it is reported all the same");
    }
    let met = exempted(&["detector.linear"], &[], &STRONG).detected.map(|detected| detected.rules_met);
    assert_eq!(met, Some(0));
}

#[test]
fn trusted_text_flags_and_is_no_part_of_the_sum() {
    let trusting = |role| Policy { scope: Scope { trusted_roles: [role].into(), ..Scope::default() }, ..Policy::default() };
    let found = judge(&trusting(Role::User), &[("user", "#0.95"), ("user", "#0.89"), ("tool", "#0.89")]);
    let events = found.detected.as_ref().map(|detected| detected.trajectory.events());
    assert_eq!((decided(&found), events), ((Verdict::Flag, Some("detector.linear".into()), Some(0)), Some(1)));
}

/// 1 is the worst score, so a broken member cannot wash anything.
#[test]
fn a_member_that_gives_no_number_fails_closed_and_visibly() {
    for text in ["#nan", "#inf", "#nan and #0.95", "#0.95 and #nan"] {
        let found = judge(&Policy::default(), &[("user", "Hi"), ("user", text)]);
        assert_eq!(decided(&found), (Verdict::Block, Some("detector.failed".into()), Some(1)), "{text}");
        let detected = found.detected.expect("it was asked");
        assert_eq!((detected.scores.as_slice(), detected.rules_met), (&[0.0, 1.0][..], 0b100), "{text}");
    }
    let decoded = judge(&Policy::default(), &[("user", "#0.95 %23nan")]);
    assert_eq!(decided(&decoded).1, Some("detector.failed".into()), "in any view");
    let twice = judge(&policy(&[("detector.failed", RuleUse::Flag)]), &[("user", "#nan"), ("tool", "#nan")]);
    assert_eq!(decided(&twice), (Verdict::Block, Some("detector.persistence".into()), Some(1)), "they count as 1 in the sum");
    let elsewhere = judge(&Policy::default(), &[("system", "#nan"), ("user", "Hi")]);
    assert_eq!(decided(&elsewhere), (Verdict::Flag, Some("detector.failed".into()), Some(0)));
}
