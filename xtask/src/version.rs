//! Comparing version numbers such as 1.95 and 1.96.0.

/// Major and minor number; 0 where there is none.
pub fn parse(text: &str) -> (u32, u32) {
    let mut parts = text.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn compares_numbers_not_letters() {
        assert!(parse("1.96.0") > parse("1.95"));
        assert!(parse("1.100.0") > parse("1.95"));
        assert!(parse("1.63.0") < parse("1.95"));
        assert!(parse("1.95.0-nightly") >= parse("1.95"));
        assert!(parse("") < parse("1.95"));
    }
}
