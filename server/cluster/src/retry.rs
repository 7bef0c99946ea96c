//! How long to wait before the next try.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(20);
const LAST: Duration = Duration::from_secs(2);

/// Waiting time before try `attempt + 1`, the first being 1: doubled each time up to 2 s, and never shorter than the
/// API server asks. Different requests (`what`) wait up to half as long again, so that those who failed together do
/// not come back together.
pub(crate) fn pause(attempt: u32, what: &str, asked: Option<Duration>) -> Duration {
    let base = FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(LAST);
    let mut hasher = DefaultHasher::new();
    (what, attempt).hash(&mut hasher);
    let spread = u32::try_from(hasher.finish() % 512).unwrap_or_default();
    base.max(asked.unwrap_or_default()) + base * spread / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_obey_the_server() {
        let all: Vec<_> = (1..=20).map(|attempt| pause(attempt, "x", None)).collect();
        assert!(all[0] >= FIRST && all[0] < FIRST * 2);
        assert!(all.iter().all(|pause| *pause <= LAST * 3 / 2));
        assert!(all[12] > all[0]);
        assert!(pause(1, "x", Some(Duration::from_secs(5))) >= Duration::from_secs(5));
        assert_ne!(pause(3, "a", None), pause(3, "b", None));
    }
}
