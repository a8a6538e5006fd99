//! Templates with holes, and what the holes stand for.

/// What the holes of one reply stand for, spelled as JSON.
#[derive(Debug)]
pub struct Holes {
    /// `$m`: the message, with its quotes.
    pub message: String,
    /// `$r`: the rule, inside quotes.
    pub rule: String,
    /// `$e`: the event id, inside quotes.
    pub event: String,
    /// `$k`: what the provider calls the error.
    pub kind: &'static str,
    /// `$s`: the HTTP status.
    pub status: String,
    /// `$n`: the number of messages that came before.
    pub number: String,
    /// `$t`: seconds since the Unix epoch; `$d` is the same as a date.
    pub seconds: u64,
}

impl Holes {
    /// A template with its holes filled. `$i` is the id of a JSON-RPC request, as JSON.
    pub fn fill(&self, template: &str, id: &str) -> String {
        let mut parts = template.split('$');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let computed;
            let value = match part.as_bytes().first() {
                Some(b'm') => &self.message,
                Some(b'r') => &self.rule,
                Some(b'e') => &self.event,
                Some(b'k') => self.kind,
                Some(b's') => &self.status,
                Some(b'n') => &self.number,
                Some(b'i') => id,
                Some(b't') => {
                    computed = self.seconds.to_string();
                    &computed
                }
                _ => {
                    computed = date(self.seconds);
                    &computed
                }
            };
            filled.push_str(value);
            filled.push_str(part.get(1..).unwrap_or_default());
        }
        filled
    }
}

/// A time as RFC 3339 spells it, in UTC. Counted in years that begin in March, so that the leap day is the last of its year.
fn date(seconds: u64) -> String {
    let (days, seconds) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_date_1() {
        // date -u -d @N +%FT%TZ
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_796_036_199, "2026-11-30T10:56:39Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }
}
