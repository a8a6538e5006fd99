//! docs/data-format.md: its examples are the files of testdata/data-format, and these are read as it says.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use floodmark_core::wire::{self, Body, Direction, Format};
use floodmark_eval::data::{self, Channel, DataFile, Label, NOT_NAMED, OnBroken, Record, Split, unit};
use floodmark_eval::events;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn example(name: &str) -> PathBuf {
    root().join("testdata/data-format").join(name)
}

fn only(path: &Path) -> DataFile {
    let mut files = data::files(path).unwrap();
    assert_eq!(files.len(), 1);
    files.remove(0)
}

/// Takes something of every record of a file.
fn each<T>(path: &Path, mut take: impl FnMut(&Record) -> T) -> Vec<T> {
    let mut found = Vec::new();
    only(path)
        .each(|record| {
            found.push(take(record));
            Ok(())
        })
        .unwrap();
    found
}

fn complaint(path: &Path) -> String {
    format!("{:#}", only(path).each(|_| Ok(())).unwrap_err())
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text).unwrap();
    gzip.finish().unwrap()
}

/// Each fenced block behind a line that names a file is that file; all files are shown.
#[test]
fn the_document_shows_the_files() {
    let document = fs::read_to_string(root().join("docs/data-format.md")).unwrap();
    let shown: Vec<(&str, &str)> = document
        .split("\n`testdata/data-format/")
        .skip(1)
        .map(|rest| {
            let (name, rest) = rest.split_once('`').unwrap();
            let block = rest.split_once("```json\n").unwrap().1;
            (name, block.split_once("```").unwrap().0)
        })
        .collect();
    for (name, block) in &shown {
        assert_eq!(*block, fs::read_to_string(example(name)).unwrap(), "{name}");
    }
    let mut names: Vec<String> =
        fs::read_dir(example("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let mut shown: Vec<&str> = shown.into_iter().map(|(name, _)| name).collect();
    shown.sort_unstable();
    assert_eq!(shown, names);
}

#[test]
fn what_is_not_given_has_a_default() {
    let found = each(&example("texts.jsonl"), |record| {
        let text = record.text.clone().unwrap();
        (record.id.clone(), record.source.clone(), record.label, record.split, record.channel, unit("texts", record), text.len())
    });
    let line = |number: usize, label, channel, unit: &str, length| {
        (format!("line {number}"), "texts".to_owned(), label, Split::Test, Some(channel), unit.to_owned(), length)
    };
    let expected = [
        line(1, Label::Attack, Channel::User, "texts line 1", 61),
        line(2, Label::Benign, Channel::User, "texts line 2", 43),
        line(3, Label::Attack, Channel::Tool, "invoice-trick", 61),
    ];
    assert_eq!(found, expected);
    let file = only(&example("texts.jsonl"));
    let about = [&file.set, &file.name, &file.licence, &file.source].map(String::as_str);
    assert_eq!((about, file.stem()), (["texts", "texts.jsonl", NOT_NAMED, NOT_NAMED], "texts"));
}

#[test]
fn conversations_and_agent_runs_are_read() {
    let found = each(&example("conversations.jsonl"), |record| {
        let roles = record.messages.as_ref().unwrap().iter().map(|message| message.role.clone()).collect::<Vec<_>>();
        (record.source.clone(), record.label, unit("conversations", record), roles.join(" "))
    });
    let expected = [
        ("conversations", Label::Benign, "conversations line 1", "user assistant user"),
        ("red team, May", Label::Attack, "objective-4", "user user"),
    ];
    assert_eq!(found, expected.map(|(source, label, unit, roles)| (source.to_owned(), label, unit.to_owned(), roles.to_owned())));

    let found = each(&example("trajectories.jsonl"), |record| {
        let messages = record.messages.as_ref().unwrap();
        let calls = messages.iter().flat_map(|message| &message.tool_calls).map(|call| format!("{}{}", call.name, call.spelled()));
        (unit("trajectories", record), calls.collect::<Vec<_>>().join(" "), messages.last().unwrap().shown().to_owned())
    });
    let expected = [
        ("summarise-inbox", r#"list_mails{"folder":"inbox"}"#, "Lunch on Friday?"),
        ("send-money", r#"list_mails{"folder":"inbox"} send_money{"to":"DE89","amount":100}"#, "not enough money"),
    ];
    assert_eq!(found, expected.map(|(unit, calls, last)| (unit.to_owned(), calls.to_owned(), last.to_owned())));
}

/// The events of a logged request are those that the gateway reads from its very bytes, and the body that measurements make of it holds its messages.
#[test]
fn logged_requests_are_read_as_they_are() {
    let line = fs::read_to_string(example("openai.jsonl")).unwrap();
    let body = Body::new(line.as_bytes());
    let document = wire::read(&body, Some(Format::OpenAiChat), Direction::Request);
    let seen = document.events.iter().filter(|event| event.is_step()).map(|event| (event.channel, event.text.as_ref().to_owned()));
    let found = each(&example("openai.jsonl"), |record| {
        let events = events::of_record("openai", record).unwrap();
        events.into_iter().map(|event| (event.channel, event.text)).collect::<Vec<_>>()
    });
    assert_eq!(found, [seen.collect::<Vec<_>>()]);
    assert_eq!(found[0].len(), 3, "the user's message, the call and its result");

    let texts = each(&example("openai.jsonl"), |record| {
        let messages = record.messages.as_ref().unwrap();
        messages.iter().map(|message| format!("{}: {}", message.role, message.content)).collect::<Vec<_>>()
    });
    assert_eq!(
        texts,
        [["developer: You help with mail.", "user: Sum up my inbox.\nTwo sentences.", "assistant: ", "tool: Lunch on Friday?"]
            .map(str::to_owned)]
    );
}

/// What the document says of the broken file is what is said.
#[test]
fn broken_lines_stop_or_are_skipped_on_request() {
    let document = fs::read_to_string(root().join("docs/data-format.md")).unwrap();
    let plain = |text: String| text.replace(example("").to_str().unwrap(), "").trim_start_matches('/').to_owned();
    let first = plain(complaint(&example("broken.jsonl")));
    assert!(first.starts_with("broken.jsonl:2: missing field `label`"), "{first}");
    assert!(document.contains(&format!("\n{first}\n")), "docs/data-format.md does not show: {first}");

    let mut ids = Vec::new();
    let taken = only(&example("broken.jsonl")).read(OnBroken::Skip, |record| {
        ids.push(record.id.clone());
        Ok(())
    });
    let taken = taken.unwrap();
    assert_eq!(ids, ["line 1", "line 8"]);
    assert_eq!((taken.records, taken.broken), (2, 5));
    assert_eq!(taken.first.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    let said: Vec<String> = taken.to_string().lines().map(|line| plain(line.to_owned())).collect();
    assert!(document.contains(&format!("\n{}\n", said.join("\n"))), "docs/data-format.md does not show:\n{}", said.join("\n"));
}

#[test]
fn only_the_first_twenty_broken_lines_are_told() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("many.jsonl");
    fs::write(&path, "{}\n".repeat(2) + "{\"text\":\"a\",\"label\":\"benign\"}\n" + &"nonsense\n".repeat(23)).unwrap();
    let taken = only(&path).read(OnBroken::Skip, |_| Ok(())).unwrap();
    assert_eq!((taken.records, taken.broken, taken.first.len()), (1, 25, 20));
    let said = taken.to_string();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 22);
    assert!(lines[0].contains("many.jsonl:1: missing field `label`") && lines[2].contains("many.jsonl:4: no JSON"), "{said}");
    assert!(lines[20].ends_with(": 5 more") && lines[21].ends_with(": 25 broken lines skipped, 1 records read"), "{said}");
    let whole = only(&example("texts.jsonl")).read(OnBroken::Skip, |_| Ok(())).unwrap();
    assert_eq!((whole.records, whole.to_string().as_str()), (3, ""), "nothing is said where nothing is broken");
}

/// Packed or plain is told by content, under either name; a cut is an error even where broken lines are skipped.
#[test]
fn packed_files_are_known_by_content() {
    let folder = TempDir::new().unwrap();
    let text = fs::read(example("texts.jsonl")).unwrap();
    let packed = gzip(&text);
    let mut marked = b"\xef\xbb\xbf".to_vec();
    marked.extend(&text);
    let windows = String::from_utf8(text.clone()).unwrap().replace('\n', "\r\n").into_bytes();
    for (name, content) in
        [("a.jsonl", &packed), ("a.jsonl.gz", &packed), ("b.jsonl.gz", &text), ("c.jsonl", &marked), ("d.jsonl", &windows)]
    {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        assert_eq!(each(&path, |record| record.id.clone()), ["line 1", "line 2", "line 3"], "{name}");
    }
    let two = [gzip(&text), gzip(&text)].concat();
    let path = folder.path().join("two.jsonl.gz");
    fs::write(&path, &two).unwrap();
    assert_eq!(each(&path, |_| ()).len(), 6, "members of one gzip are one file");
    for cut in [packed.len() - 1, packed.len() - 8, packed.len() / 2, 5] {
        fs::write(&path, &packed[..cut]).unwrap();
        let error = only(&path).read(OnBroken::Skip, |_| Ok(())).unwrap_err();
        assert!(format!("{error:#}").contains("its gzip is cut off or damaged"), "{cut}: {error:#}");
    }
}

#[test]
fn a_folder_without_readme_is_a_users_own() {
    let folder = TempDir::new().unwrap();
    let line = "{\"text\":\"a\",\"label\":\"benign\"}\n";
    fs::create_dir_all(folder.path().join("logs/deeper")).unwrap();
    for name in ["logs/may.jsonl", "logs/june.jsonl.gz", "logs/notes.txt", "alone.jsonl"] {
        fs::write(folder.path().join(name), line).unwrap();
    }
    fs::write(folder.path().join("README.md"), "# Our logs\n").unwrap();
    let files = data::files(folder.path()).unwrap();
    let found: Vec<_> = files.iter().map(|file| (file.set.as_str(), file.name.as_str(), file.licence.as_str())).collect();
    assert_eq!(found, [("alone", "alone.jsonl", NOT_NAMED), ("logs", "june.jsonl.gz", NOT_NAMED), ("logs", "may.jsonl", NOT_NAMED)]);
    let units: Vec<String> =
        files[1..].iter().map(|file| unit(&file.set, &file.records().unwrap().next_record().unwrap().unwrap())).collect();
    assert_eq!(units, ["june line 1", "may line 1"], "lines of two files are two units");
}

/// A line of more than 64 MiB never is in memory: it is broken, and the next one is read.
#[test]
fn a_line_too_long_is_broken() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("long.jsonl");
    let mut gzip = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::fast());
    let block = [b'a'; 1 << 20];
    gzip.write_all(b"{\"label\":\"benign\",\"text\":\"").unwrap();
    (0..65).for_each(|_| gzip.write_all(&block).unwrap());
    gzip.write_all(b"\"}\n{\"text\":\"a\",\"label\":\"benign\"}\n").unwrap();
    gzip.finish().unwrap();
    let taken = only(&path).read(OnBroken::Skip, |_| Ok(())).unwrap();
    assert_eq!((taken.records, taken.first), (1, vec![(1, "a line of more than 64 MiB".to_owned())]));
    assert!(complaint(&path).contains("long.jsonl:1: a line of more than 64 MiB; mend the line"));
}

#[test]
fn what_is_no_record_is_said() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.jsonl");
    for (line, said) in [
        (r#"[{"text":"a","label":"benign"}]"#, "a list, where each line is to be one object"),
        (r#"{"label":"benign","text":"a","messages":[]}"#, "both `messages` and `text`"),
        (r#"{"label":"benign","text":"a","channel":"mail"}"#, "unknown variant `mail`, expected `user` or `tool`"),
        (r#"{"label":"benign","text":"a","split":"prod"}"#, "expected one of `train`, `dev`, `test`"),
        (r#"{"label":"benign","text":"a","id":{}}"#, "a name is a text or a whole number"),
        (r#"{"label":"benign","text":7}"#, "expected a string at byte"),
    ] {
        fs::write(&path, line).unwrap();
        let found = complaint(&path);
        assert!(found.contains("x.jsonl:1: ") && found.contains(said) && found.contains("docs/data-format.md"), "{found}");
    }
    fs::write(&path, format!(r#"{{"label":"\u001b[2J{}","text":"a"}}"#, "x".repeat(5000))).unwrap();
    let found = complaint(&path);
    assert!(found.len() < 600 && found.contains(r"unknown variant `\u{1b}[2Jxxx"), "{found}");
    fs::write(&path, r#"{"label":"benign","text":"a","id":17,"unit":4,"source":null}"#).unwrap();
    assert_eq!(
        each(&path, |record| (record.id.clone(), unit("x", record), record.source.clone())),
        [("17".into(), "4".into(), "x".into())]
    );
    assert!(format!("{:#}", data::files(&folder.path().join("gone")).unwrap_err()).contains("give a data folder with --data"));
}
