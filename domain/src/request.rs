//! Requests: what a team asks for, and how a request is decided.

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    fleet::ApprovalRules,
    id::{CommentId, GrantId, RequestId, UserId},
    ledger::{Dimension, Shortfall},
    name::{OfferingName, TeamName},
    shape::Shape,
};

/// Longest purpose, reason or comment, in characters.
pub const TEXT_MAX: usize = 2000;

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// A new grant.
    New {
        /// Of what.
        offering: OfferingName,
        /// How much, in which blocks.
        shape: Shape,
        /// With the team's fabric partition.
        #[serde(default)]
        partition: bool,
        /// Last day of the lease (UTC).
        until: NaiveDate,
    },
    /// Another amount for a grant that the team has.
    Change {
        /// Which grant.
        grant: GrantId,
        /// The whole new amount, not the difference.
        shape: Shape,
    },
    /// A later end for a grant that the team has.
    Extend {
        /// Which grant.
        grant: GrantId,
        /// New last day of the lease (UTC).
        until: NaiveDate,
    },
}

/// Where a request stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// Waits for a decision.
    Submitted,
    /// Promised in the ledger.
    Approved,
    /// Refused by a person.
    Denied,
    /// Taken back by the team.
    Withdrawn,
}

/// One person's yes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// Who; none where the rule of the pool approved it.
    pub by: Option<UserId>,
    /// For people.
    pub display: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// A wish of a team.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Request {
    /// Id.
    pub id: RequestId,
    /// Who asks.
    pub team: TeamName,
    /// For what.
    pub ask: Ask,
    /// Offering that it is about, also for changes of a grant.
    pub offering: OfferingName,
    /// Devices beyond what the team is granted now; 0 for a lowering or an extension.
    pub more: u32,
    /// Why, in the asker's words.
    pub purpose: String,
    /// Where it stands.
    pub state: RequestState,
    /// Who said yes so far.
    pub approvals: Vec<Approval>,
    /// Why it was denied.
    pub denial: Option<String>,
    /// Grant that came of it or is changed by it.
    pub grant: Option<GrantId>,
    /// Who wrote it.
    pub created_by: UserId,
    /// Their name, for people.
    pub created_by_display: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// When it was decided or withdrawn.
    pub decided_at: Option<DateTime<Utc>>,
    /// Version for `If-Match`.
    pub version: i64,
}

/// One remark on a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comment {
    /// Id.
    pub id: CommentId,
    /// Who.
    pub by: UserId,
    /// Their name, for people.
    pub by_display: String,
    /// When.
    pub at: DateTime<Utc>,
    /// What.
    pub text: String,
}

/// A person's word on a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    /// Yes.
    Approve,
    /// No, with the reason.
    Deny,
    /// The team takes it back.
    Withdraw,
}

/// What follows from a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The request is approved: promise it in the ledger.
    Approve,
    /// One yes is recorded, another person must agree.
    AwaitSecond,
    /// Denied or withdrawn.
    Close(RequestState),
    /// The same person said the same before: answer as then, change nothing.
    Unchanged,
}

/// Why a word is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WordError {
    /// Two-person rule: nobody approves what they asked for.
    #[error("you wrote this request yourself; another approver must decide it")]
    Own,
    /// It was decided in another way before.
    #[error("the request is already {}", state_word(*.0))]
    Decided(RequestState),
}

/// The state as a word in a sentence.
#[must_use]
pub fn state_word(state: RequestState) -> &'static str {
    match state {
        RequestState::Submitted => "waiting for approval",
        RequestState::Approved => "approved",
        RequestState::Denied => "denied",
        RequestState::Withdrawn => "withdrawn",
    }
}

/// What follows when `by` says `word` about `request`. Whether it fits is the ledger's question, not this one's.
///
/// # Errors
/// For one's own request and for one that was decided otherwise.
pub fn decide(
    request: &Request,
    word: &Word,
    by: UserId,
    rules: &ApprovalRules,
) -> Result<Outcome, WordError> {
    let said_yes = request.approvals.iter().any(|a| a.by == Some(by));
    match (word, request.state) {
        (Word::Approve, RequestState::Submitted) if request.created_by == by => Err(WordError::Own),
        (Word::Approve, RequestState::Submitted) if said_yes => Ok(Outcome::Unchanged),
        (Word::Approve, RequestState::Submitted) => {
            let needed = approvals_needed(rules, request.more);
            let given = u32::try_from(request.approvals.len()).unwrap_or(u32::MAX).saturating_add(1);
            Ok(if given >= needed { Outcome::Approve } else { Outcome::AwaitSecond })
        }
        (Word::Approve, RequestState::Approved) if said_yes => Ok(Outcome::Unchanged),
        (Word::Deny, RequestState::Submitted) => Ok(Outcome::Close(RequestState::Denied)),
        (Word::Withdraw, RequestState::Submitted) => Ok(Outcome::Close(RequestState::Withdrawn)),
        (Word::Withdraw, RequestState::Withdrawn) => Ok(Outcome::Unchanged),
        (_, state) => Err(WordError::Decided(state)),
    }
}

/// People who must say yes: 1, or 2 above the pool's threshold.
#[must_use]
pub fn approvals_needed(rules: &ApprovalRules, amount: u32) -> u32 {
    if rules.two_above.is_some_and(|above| amount > above) { 2 } else { 1 }
}

/// Does the pool's rule approve it by itself? `granted` is what the team holds of the offering already: the rule is
/// about the sum, or many small requests would take the whole pool.
#[must_use]
pub fn approves_itself(rules: &ApprovalRules, granted: u32, more: u32, fits: bool) -> bool {
    let after = granted.saturating_add(more);
    fits && rules.auto_up_to > 0 && after <= rules.auto_up_to && approvals_needed(rules, more) < 2
}

/// End of a lease whose last day is `until`: the midnight after it, UTC.
#[must_use]
pub fn lease_end(until: NaiveDate) -> Timestamp {
    until.succ_opt().unwrap_or(until).and_time(chrono::NaiveTime::MIN).and_utc()
}

/// Last day of a lease that ends at `end`.
#[must_use]
pub fn last_day(end: Timestamp) -> NaiveDate {
    let date = end.date_naive();
    if end.time() == chrono::NaiveTime::MIN { date.pred_opt().unwrap_or(date) } else { date }
}

/// Is the lease one that the pool allows? `today` is the day in UTC.
///
/// # Errors
/// A shortfall of days when it lies in the past or is too long.
pub fn check_lease(rules: &ApprovalRules, today: NaiveDate, until: NaiveDate) -> Result<(), Shortfall> {
    let days = (until - today).num_days();
    let max = i64::from(rules.max_days);
    if (0..=max).contains(&days) {
        return Ok(());
    }
    let latest = today + chrono::Duration::days(max);
    let requested = u32::try_from(days.max(0)).unwrap_or(u32::MAX);
    Err(Shortfall {
        dimension: Dimension::Lease,
        limit: rules.max_days,
        used: 0,
        requested,
        shortfall: requested.saturating_sub(rules.max_days),
        detail: if days < 0 {
            format!("the last day {until} is in the past; choose {today} to {latest}")
        } else {
            format!("a lease of {days} days asked, {max} are allowed; choose {latest} at the latest")
        },
    })
}

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use crate::name::DisplayName;

    fn user(n: u128) -> UserId {
        UserId(Ulid::from_parts(1, n))
    }
    fn at() -> Timestamp {
        "2026-11-30T12:00:00Z".parse().unwrap()
    }
    fn request(more: u32) -> Request {
        Request {
            id: RequestId(Ulid::from_parts(1, 9)),
            team: TeamName::new("vision").unwrap(),
            ask: Ask::New {
                offering: OfferingName::new("h100").unwrap(),
                shape: Shape { nodes: 1, per_node: more },
                partition: false,
                until: NaiveDate::from_ymd_opt(2026, 12, 14).unwrap(),
            },
            offering: OfferingName::new("h100").unwrap(),
            more,
            purpose: String::new(),
            state: RequestState::Submitted,
            approvals: vec![],
            denial: None,
            grant: None,
            created_by: user(1),
            created_by_display: DisplayName::new("m").unwrap().into(),
            created_at: at(),
            decided_at: None,
            version: 1,
        }
    }

    #[test]
    fn nobody_approves_their_own_request() {
        assert_eq!(
            decide(&request(4), &Word::Approve, user(1), &ApprovalRules::default()),
            Err(WordError::Own)
        );
        assert_eq!(
            decide(&request(4), &Word::Approve, user(2), &ApprovalRules::default()),
            Ok(Outcome::Approve)
        );
    }

    #[test]
    fn two_people_above_the_threshold() {
        let rules = ApprovalRules { two_above: Some(8), ..ApprovalRules::default() };
        let mut r = request(9);
        assert_eq!(decide(&r, &Word::Approve, user(2), &rules), Ok(Outcome::AwaitSecond));
        r.approvals.push(Approval { by: Some(user(2)), display: "a".into(), at: at() });
        assert_eq!(decide(&r, &Word::Approve, user(2), &rules), Ok(Outcome::Unchanged));
        assert_eq!(decide(&r, &Word::Approve, user(3), &rules), Ok(Outcome::Approve));
        assert_eq!(decide(&request(8), &Word::Approve, user(2), &rules), Ok(Outcome::Approve));
    }

    #[test]
    fn case_05_a_double_click_is_one_decision_and_the_loser_is_told_the_state() {
        let mut r = request(4);
        r.state = RequestState::Approved;
        r.approvals.push(Approval { by: Some(user(2)), display: "a".into(), at: at() });
        assert_eq!(decide(&r, &Word::Approve, user(2), &ApprovalRules::default()), Ok(Outcome::Unchanged));
        let late = decide(&r, &Word::Deny, user(3), &ApprovalRules::default());
        assert_eq!(late.unwrap_err().to_string(), "the request is already approved");
    }

    #[test]
    fn leases_end_at_midnight_after_the_last_day() {
        let day = NaiveDate::from_ymd_opt(2026, 12, 14).unwrap();
        assert_eq!(lease_end(day).to_rfc3339(), "2026-12-15T00:00:00+00:00");
        assert_eq!(last_day(lease_end(day)), day);
    }

    #[test]
    fn leases_are_neither_past_nor_too_long() {
        let rules = ApprovalRules { max_days: 14, ..ApprovalRules::default() };
        let (today, day) = (at().date_naive(), |d| NaiveDate::from_ymd_opt(2026, 12, d).unwrap());
        assert!(check_lease(&rules, today, today).is_ok());
        assert!(check_lease(&rules, today, day(14)).is_ok());
        assert!(check_lease(&rules, today, day(15)).unwrap_err().detail.contains("2026-12-14"));
        assert!(check_lease(&rules, day(2), day(1)).unwrap_err().detail.contains("in the past"));
    }

    #[test]
    fn a_rule_approves_only_what_fits_and_is_small() {
        let rules = ApprovalRules { auto_up_to: 2, ..ApprovalRules::default() };
        assert!(approves_itself(&rules, 0, 2, true));
        assert!(approves_itself(&rules, 1, 1, true));
        assert!(!approves_itself(&rules, 1, 2, true), "many small ones are one large one");
        assert!(!approves_itself(&rules, 0, 3, true));
        assert!(!approves_itself(&rules, 0, 2, false));
        assert!(!approves_itself(&ApprovalRules::default(), 0, 0, true));
    }
}
