//! Formats dates in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time as text, such as `2026-11-23T08:55:01Z`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH);
    text(seconds.map_or(0, |seconds| seconds.as_secs()))
}

/// Converts a number of seconds since 1970 to a date. The calendar repeats every 400 years. The
/// algorithm begins each year in March, so that a leap day is the last day of its year (Hinnant
/// 2013, "chrono-compatible low-level date algorithms").
fn text(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected dates were computed by `date -u -d @SECONDS`.
    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(text(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(text(1_795_424_099), "2026-11-23T08:54:59Z");
        assert_eq!(text(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
