//! What each difference of profile `floodmark` does alone: added to profile `paper`, and taken from profile `floodmark`.

use floodmark_core::conversation::Params;

use super::Options;
use super::case::{Case, Group};
use super::scoring::{Differences, Scoring};
use crate::assemble::Kind;
use crate::report::{Section, Table};
use crate::stats::Share;

/// A difference, and how it is switched.
type Switch = (&'static str, fn(Differences, bool) -> Differences);
const SWITCHES: [Switch; 5] = [
    ("best window of 1 to 12 turns", |all, on| Differences { windows: on, ..all }),
    ("share of hits of at least 4 turns", |all, on| Differences { least_length: on, ..all }),
    ("windows fade", |all, on| Differences { decay: on, ..all }),
    ("resampling only flags", |all, on| Differences { resampling_flags: on, ..all }),
    ("judged from 2 turns, tools' included", |all, on| Differences { two_turns: on, ..all }),
];

pub(super) fn section(cases: &[Case], options: &Options) -> Section {
    let mut section = Section::new("profile-differences", "Peak and accumulation: what each difference of the profiles does");
    section.text(format!(
        "Profile floodmark differs from profile paper in five ways. Here each is added to profile paper alone, and taken from profile floodmark alone; patterns only, every request judged, on {}. \
         Fading does nothing to whole histories, since they always end at the last turn, and it can matter only in conversations longer than 16 turns.",
        options.split.name()
    ));
    let columns = ["profile", "assembled attacks", "control", "benign conversations", "benign agent runs"];
    let with = |base: Differences, on: bool, word: &'static str| {
        SWITCHES.iter().map(move |(name, switch)| (format!("{word} {name}"), switch(base, on)))
    };
    for (id, base, ends) in [
        ("differences-added", Differences::NONE, with(Differences::NONE, true, "paper, but")),
        ("differences-taken", Differences::ALL, with(Differences::ALL, false, "floodmark without:")),
    ] {
        let (first, caption) = if base == Differences::NONE {
            ("paper", "Added to profile paper, one at a time.")
        } else {
            ("floodmark", "Taken from profile floodmark, one at a time.")
        };
        let caption = format!("{caption} Blocked at any request; shares with Wilson's interval at the effective number of units.");
        let mut table = Table::new(id, caption, &columns);
        for (name, differences) in [(first.to_owned(), base)].into_iter().chain(ends) {
            let shares = shares(cases, &Scoring::new(differences, Params::default()));
            table.row([name.into()].into_iter().chain(shares.iter().map(Into::into)));
        }
        section.table(table);
    }
    section
}

/// What is blocked: assembled attacks, control, benign conversations, benign agent runs.
fn shares(cases: &[Case], scoring: &Scoring) -> [Share; 4] {
    let mut shares: [Share; 4] = Default::default();
    for case in cases {
        let at = match case.group {
            Group::Assembled(kind) if kind.is_attack() => 0,
            Group::Assembled(Kind::Control) => 1,
            Group::Conversation => 2,
            Group::Run => 3,
            _ => continue,
        };
        shares[at].count(&case.unit, scoring.blocks(scoring.highest(case)));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::super::case::Chat;
    use super::*;
    use floodmark_core::conversation::Turn;

    fn chat(turns: &[(bool, u32)], resampling: bool) -> Case {
        let turns: Vec<Turn> = turns.iter().map(|&(user, categories)| Turn { user, categories }).collect();
        let ends = (1..=turns.len()).collect();
        let chat = Chat { turns, ends, resampling: [resampling; 2], ..Chat::default() };
        Case { group: Group::Conversation, set: String::new(), unit: "u".to_owned(), chats: vec![chat] }
    }

    fn blocks(case: &Case, differences: Differences) -> bool {
        shares(std::slice::from_ref(case), &Scoring::new(differences, Params::default()))[2].hits() == 1
    }

    /// One conversation for each difference, which it alone decides; by hand from DESIGN.md 7.
    #[test]
    fn each_difference_decides_a_conversation() {
        let strong = 1 << super::super::scoring::weights().iter().position(|weight| *weight == 0.5).unwrap();
        let user = |hits: &[u32]| hits.iter().map(|hit| (true, *hit)).collect::<Vec<_>>();
        // Two turns with one hit of .5: .5 + .45 / 2 = .725, or .5 + .45 / 4 = .6125.
        let short = chat(&user(&[strong, 0]), false);
        assert!(blocks(&short, Differences::NONE) && !blocks(&short, Differences { least_length: true, ..Differences::NONE }));
        assert!(!blocks(&short, Differences::ALL) && blocks(&short, Differences { least_length: false, ..Differences::ALL }));
        // Eight harmless turns, then two hits: .5 + .45 * 2 / 10 = .59 of all, .5 + .45 * 2 / 4 = .725 of the last.
        let late = chat(&user(&[0, 0, 0, 0, 0, 0, 0, 0, strong, strong]), false);
        assert!(!blocks(&late, Differences::NONE) && blocks(&late, Differences { windows: true, ..Differences::NONE }));
        assert!(blocks(&late, Differences::ALL) && !blocks(&late, Differences { windows: false, ..Differences::ALL }));
        // Resampling is .7.
        let again = chat(&user(&[0; 4]), true);
        assert!(blocks(&again, Differences::NONE) && !blocks(&again, Differences { resampling_flags: true, ..Differences::NONE }));
        assert!(!blocks(&again, Differences::ALL) && blocks(&again, Differences { resampling_flags: false, ..Differences::ALL }));
        // An agent's run has one user message.
        let run = chat(&[(true, 0), (false, strong), (false, strong)], false);
        assert!(!blocks(&run, Differences::NONE) && blocks(&run, Differences { two_turns: true, ..Differences::NONE }));
        assert!(blocks(&run, Differences::ALL) && !blocks(&run, Differences { two_turns: false, ..Differences::ALL }));
        // A request that holds only what is long past: the hits were blocked when they came, so fading shows in the last request alone.
        let mut old = chat(&user(&[[strong; 2].as_slice(), &[0; 80]].concat()), false);
        old.chats[0].ends = vec![82];
        assert!(!blocks(&old, Differences::ALL) && blocks(&old, Differences { decay: false, ..Differences::ALL }));
    }
}
