//! English.

use domain::{
    api::{FitAnswer, FreesUp},
    ledger::{Decision, Dimension, Shortfall},
};

/// "4 × H100 SXM": an amount is never a bare number.
pub(crate) fn amount(n: u32, unit: &str) -> String {
    format!("{n} × {unit}")
}

/// "1 request", "2 requests".
#[cfg(feature = "ssr")]
pub(crate) fn count(n: u32, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A sentence out of what the server says in the middle of a line: it begins with a capital and ends with a full stop,
/// and a kind that the name repeats is left out ("team team-7").
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (name, after) = rest.split_once(' ').unwrap_or((rest, ""));
    if name.strip_prefix(kind).is_some_and(|tail| tail.starts_with('-')) {
        return format!("“{name}” {after}.");
    }
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

/// The text with a full stop at its end.
#[cfg(feature = "ssr")]
pub(crate) fn stop(text: &str) -> String {
    format!("{}.", text.trim().trim_end_matches('.'))
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// "14 December 2026".
pub(crate) fn date(day: chrono::NaiveDate) -> String {
    use chrono::Datelike as _;
    let month = usize::try_from(day.month0()).ok().and_then(|m| MONTHS.get(m)).copied().unwrap_or_default();
    format!("{} {month} {}", day.day(), day.year())
}

// ── Does it fit? Also in the browser. ──

#[cfg(feature = "ssr")]
pub(crate) const FIT_TITLE: &str = "Does it fit?";
pub(crate) const FIT_HINT: &str =
    "Choose what and how much, and the answer appears here. “Check” asks without sending anything.";
pub(crate) const FIT_YES: &str = "It fits.";
pub(crate) const FIT_NO: &str = "It does not fit now.";
#[cfg(feature = "hydrate")]
pub(crate) const FIT_OFFLINE: &str = "The server did not answer. “Check” and “Send” still work.";

pub(crate) fn dimension(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Capacity => "Capacity",
        Dimension::Shape => "Shape",
        Dimension::Partition => "Partition",
        Dimension::Lease => "Lease",
    }
}

pub(crate) fn shortfall(s: &Shortfall) -> String {
    format!("{}: {}", dimension(s.dimension), s.detail)
}

pub(crate) fn fit_capacity(decision: &Decision, unit: &str) -> Option<String> {
    match decision {
        Decision::Fits { free_after, .. } => {
            Some(format!("{} stay free after it.", amount(*free_after, unit)))
        }
        Decision::Short { .. } => None,
    }
}

pub(crate) fn fit_waits(waits_for: u32, unit: &str) -> String {
    format!("The quota rises as soon as {} of lowered grants are confirmed back.", amount(waits_for, unit))
}

pub(crate) fn fit_frees_up(frees: &FreesUp, unit: &str) -> String {
    format!("{} come free on {}.", amount(frees.amount, unit), date(frees.at.date_naive()))
}

pub(crate) fn fit_approvals(needed: u32) -> String {
    match needed {
        0 => "It is approved at once, by the rule of the pool.".to_owned(),
        1 => "One approver decides.".to_owned(),
        n => format!("{n} people must approve."),
    }
}

pub(crate) fn fit_partition(answer: &FitAnswer) -> Option<String> {
    let partition = answer.partition.as_ref()?;
    Some(if answer.new_partition {
        format!(
            "The team gets InfiniBand partition {} (slot {} of {}).",
            partition.pkey, partition.slot, partition.cluster
        )
    } else {
        format!("It joins the team's InfiniBand partition {}.", partition.pkey)
    })
}

pub(crate) fn fit_ends(answer: &FitAnswer) -> Option<String> {
    answer.ends_at.map(|at| format!("The lease runs through {}.", date(domain::request::last_day(at))))
}

// ── Islands. ──

pub(crate) const COPY: &str = "Copy";
pub(crate) const COPIED: &str = "Copied";
pub(crate) const THEME: &str = "Colours";
pub(crate) const THEMES: [(&str, &str); 3] =
    [("system", "As the system"), ("light", "Light"), ("dark", "Dark")];

#[cfg(feature = "ssr")]
pub(crate) use server::*;

/// Words that only the server needs.
#[cfg(feature = "ssr")]
mod server {
    use std::collections::BTreeMap;

    use domain::{
        Timestamp,
        fleet::{ApprovalRules, Kind, Mode, Writer},
        grant::GrantState,
        people::{PlatformRole, TeamRole},
        request::RequestState,
    };

    use super::{amount, count, date};

    pub(crate) const PRODUCT: &str = "gpuaas";
    pub(crate) const TAGLINE: &str = "GPUs for teams, on one shared cluster";

    pub(crate) fn title(page: &str) -> String {
        format!("{page} · {PRODUCT}")
    }

    // Times.
    pub(crate) fn exact(at: Timestamp) -> String {
        format!("{}, {} UTC", date(at.date_naive()), at.format("%H:%M:%S"))
    }
    pub(crate) fn relative(now: Timestamp, at: Timestamp) -> String {
        let seconds = (at - now).num_seconds();
        let span = |n: i64, one: &str, many: &str| count(u32::try_from(n).unwrap_or(u32::MAX), one, many);
        let text = match seconds.abs() {
            s if s < 60 => return if seconds > 0 { "in a moment".to_owned() } else { "just now".to_owned() },
            s if s < 3600 => span(s / 60, "minute", "minutes"),
            s if s < 48 * 3600 => span(s / 3600, "hour", "hours"),
            s => span(s / 86_400, "day", "days"),
        };
        if seconds > 0 { format!("in {text}") } else { format!("{text} ago") }
    }

    // Frame.
    pub(crate) const SKIP: &str = "Skip to the content";
    pub(crate) const MENU: &str = "Menu";
    pub(crate) const NAVIGATION: &str = "Main";
    pub(crate) const BREADCRUMBS: &str = "Where you are";
    pub(crate) const HOME: &str = "Home";
    pub(crate) const CATALOGUE: &str = "Catalogue";
    pub(crate) const TEAM: &str = "Team";
    pub(crate) const TEAMS: &str = "Teams";
    pub(crate) const OTHER_TEAMS: &str = "Change team";
    pub(crate) const QUOTA: &str = "Quota";
    pub(crate) const REQUESTS: &str = "Requests";
    pub(crate) const MANIFESTS: &str = "Manifests";
    pub(crate) const MEMBERS: &str = "Members";
    pub(crate) const APPROVALS: &str = "Approvals";
    pub(crate) const INBOX: &str = "Inbox";
    pub(crate) const PLATFORM: &str = "Platform";
    pub(crate) const DASHBOARD: &str = "Quota dashboard";
    pub(crate) const FLEET: &str = "Fleet";
    pub(crate) const AUDIT: &str = "Audit";
    pub(crate) const SIGN_OUT: &str = "Sign out";
    pub(crate) const NEXT_PAGE: &str = "Next";
    pub(crate) const FIRST_PAGE: &str = "Back to the first";
    pub(crate) const PAGES: &str = "Parts of the list";

    // States.
    pub(crate) const APPLYING: &str = "applying";
    pub(crate) const ENFORCED: &str = "enforced";
    pub(crate) const PUBLISHED: &str = "published";
    pub(crate) const REDUCING: &str = "reducing";
    pub(crate) const ENDED: &str = "ended";
    pub(crate) const BLOCKED: &str = "blocked";
    pub(crate) const READY: &str = "ready";
    pub(crate) const NOT_READY: &str = "not ready";
    pub(crate) const REGISTERING: &str = "registering";
    pub(crate) const RETIRED: &str = "retired";
    pub(crate) fn grant_state(state: GrantState) -> &'static str {
        match state {
            GrantState::Applying => APPLYING,
            GrantState::Enforced => ENFORCED,
            GrantState::Published => PUBLISHED,
            GrantState::Reducing => REDUCING,
            GrantState::Ended => ENDED,
        }
    }
    /// What a state means, for a person who wonders.
    pub(crate) fn grant_state_meaning(state: GrantState) -> &'static str {
        match state {
            GrantState::Applying => {
                "Promised. The cluster is being told, and is then asked whether it refuses more."
            }
            GrantState::Enforced => "The cluster refused our probe of one more, so the limit is real.",
            GrantState::Published => "Committed to git. Whether it is applied, nobody tells us.",
            GrantState::Reducing => {
                "Over. Until the cluster reports the lower limit, nobody else gets these devices."
            }
            GrantState::Ended => "Over. The devices are back in the pool.",
        }
    }
    pub(crate) fn request_state(state: RequestState) -> &'static str {
        match state {
            RequestState::Submitted => "waiting",
            RequestState::Approved => "approved",
            RequestState::Denied => "denied",
            RequestState::Withdrawn => "withdrawn",
        }
    }
    pub(crate) fn kind(kind: &Kind) -> String {
        match kind {
            Kind::Whole => "whole GPU".to_owned(),
            Kind::Mig { profile } => format!("MIG slice {profile}"),
            Kind::Shared { replicas } => format!("shared GPU (soft), {replicas} to one"),
        }
    }
    pub(crate) fn kind_meaning(kind: &Kind) -> &'static str {
        match kind {
            Kind::Whole => "All of a GPU, for one pod at a time.",
            Kind::Mig { .. } => "A part of a GPU with memory and compute of its own.",
            Kind::Shared { .. } => "Pods take turns on one GPU and share its memory: one can starve another.",
        }
    }
    pub(crate) fn mode(mode: Mode) -> &'static str {
        match mode {
            Mode::Whole => "whole GPUs",
            Mode::Mig => "MIG slices",
            Mode::Shared => "shared (soft)",
        }
    }
    pub(crate) fn writer(writer: Writer) -> &'static str {
        match writer {
            Writer::Kubernetes => "API server",
            Writer::Git => "git",
        }
    }
    pub(crate) fn team_role(role: TeamRole) -> &'static str {
        match role {
            TeamRole::Viewer => "viewer",
            TeamRole::Member => "member",
            TeamRole::Lead => "lead",
        }
    }
    pub(crate) fn team_role_long(role: TeamRole) -> &'static str {
        match role {
            TeamRole::Viewer => "viewer: reads",
            TeamRole::Member => "member: asks for GPUs",
            TeamRole::Lead => "lead: also keeps members, gives back",
        }
    }
    pub(crate) fn platform_role(role: PlatformRole) -> &'static str {
        match role {
            PlatformRole::Admin => "admin",
            PlatformRole::Approver => "approver",
            PlatformRole::Auditor => "auditor",
        }
    }

    // Bars.
    pub(crate) const RUNNING: &str = "running";
    pub(crate) const PENDING: &str = "pending";
    pub(crate) const FREE: &str = "free";
    pub(crate) const FREE_TO_USE: &str = "free to use";
    pub(crate) const GRANTED_IDLE: &str = "granted, not used";
    pub(crate) const UNMANAGED: &str = "outside team namespaces";
    pub(crate) const OVER_GRANT: &str = "above the grant";
    pub(crate) const GRANTED_LOW: &str = "granted";
    pub(crate) const USE_UNKNOWN: &str =
        "Use is not observed: gpuaas writes to git and does not see the cluster.";
    pub(crate) const USE_UNKNOWN_LOW: &str = "use is not observed";
    pub(crate) const GIVEN: &str = "given or in use";
    pub(crate) fn bar_of_team(unit: &str) -> String {
        format!("{unit} of this team")
    }
    pub(crate) fn bar_of_offering(unit: &str) -> String {
        format!("{unit} of all teams")
    }
    pub(crate) fn granted(n: u32, unit: &str) -> String {
        format!("{n} × {unit} granted")
    }
    pub(crate) fn capacity(n: u32, unit: &str) -> String {
        format!("{n} × {unit} in all")
    }
    pub(crate) const DEFICIT: &str = "beyond what there is";

    // Sign in, first start.
    pub(crate) const SIGN_IN: &str = "Sign in";
    pub(crate) const LOGIN: &str = "Login";
    pub(crate) const PASSWORD: &str = "Password";
    pub(crate) const DISPLAY: &str = "Name";
    pub(crate) const SETUP: &str = "Create the first admin";
    pub(crate) const SETUP_SENTENCE: &str = "This link works once. The account that you create here runs the platform: clusters, pools, teams and people.";
    pub(crate) const SETUP_NO_TOKEN: &str =
        "This page needs the link that the server printed on its console when it started for the first time.";
    pub(crate) const SETUP_BUTTON: &str = "Create the account";
    pub(crate) const LOGIN_HELP: &str = "What you sign in with: 1 to 64 characters.";
    pub(crate) const DISPLAY_HELP: &str = "How others see you.";
    pub(crate) const PASSWORD_HELP: &str = "At least 12 characters.";

    // Home.
    pub(crate) fn home_title(name: &str) -> String {
        format!("Hello, {name}")
    }
    pub(crate) fn home_sentence(teams: u32, worth: &str, waiting: u32, inbox: u32) -> String {
        let mut text = match teams {
            0 => "You are in no team yet.".to_owned(),
            1 => format!("Your team holds {worth} effective GPUs."),
            n => format!("Your {n} teams hold {worth} effective GPUs."),
        };
        if waiting > 0 {
            text.push_str(&format!(
                " {} for approval.",
                if waiting == 1 { "1 request waits".to_owned() } else { format!("{waiting} requests wait") }
            ));
        }
        if inbox > 0 {
            text.push_str(&format!(
                " {} for your decision.",
                if inbox == 1 { "1 waits".to_owned() } else { format!("{inbox} wait") }
            ));
        }
        text
    }
    pub(crate) const MY_TEAMS: &str = "My teams";
    pub(crate) const NO_TEAM: &str = "A lead of a team, or an admin, can add you as a member. Until then, the catalogue shows what there is.";
    pub(crate) const SEE_CATALOGUE: &str = "See the catalogue";
    pub(crate) const WAITING: &str = "Waiting for approval";
    pub(crate) const WAITS_FOR_ME: &str = "Waits for your decision";
    pub(crate) const NOTHING_WAITS: &str = "No request of your teams waits.";
    pub(crate) const OPEN_INBOX: &str = "Open the inbox";
    pub(crate) const ENDS_SOON: &str = "Ends within 14 days";
    pub(crate) const HOLDS_NOTHING: &str = "Holds no GPUs.";
    pub(crate) fn in_use(used: u32, granted: u32) -> String {
        format!("{used} of {granted} in use")
    }
    pub(crate) fn granted_unobserved(granted: u32) -> String {
        format!("{granted} granted; {USE_UNKNOWN_LOW}")
    }

    // Catalogue.
    pub(crate) fn catalogue_sentence(free: u32, all: u32) -> String {
        match (free, all) {
            (_, 0) => "Nothing can be asked for yet.".to_owned(),
            (0, n) => format!(
                "{} can be asked for; nothing is free of any at the moment.",
                count(n, "offering", "offerings")
            ),
            (f, n) => format!(
                "{} can be asked for; {f} of them {} something free now.",
                count(n, "offering", "offerings"),
                if f == 1 { "has" } else { "have" }
            ),
        }
    }
    pub(crate) const CATALOGUE_EMPTY: &str =
        "An admin adds clusters, pools and offerings; then they stand here.";
    pub(crate) fn free_of(free: u32, limit: u32) -> String {
        format!("{free} of {limit} free")
    }
    pub(crate) const LARGEST_BLOCK: &str = "Largest block now";
    pub(crate) const PER_UNIT: &str = "With each";
    pub(crate) const FABRIC: &str = "Fabric";
    pub(crate) const PARTITION_POSSIBLE: &str = "InfiniBand partition on request";
    pub(crate) const NO_PARTITION: &str = "none";
    pub(crate) const RESOURCE: &str = "Resource";
    pub(crate) const RULES: &str = "Rules";
    pub(crate) fn per_unit(cpu: &str, memory: &str, storage: &str) -> String {
        format!("{cpu} CPU, {memory} memory, {storage} scratch")
    }
    pub(crate) fn rules(rules: &ApprovalRules) -> String {
        let mut parts = vec![format!("at most {}", count(rules.max_days, "day", "days"))];
        if rules.auto_up_to > 0 {
            parts.push(format!("up to {} without an approver", rules.auto_up_to));
        }
        if let Some(above) = rules.two_above {
            parts.push(format!("above {above}: two approvers"));
        }
        parts.join(" · ")
    }
    pub(crate) fn request_for(team: &str) -> String {
        format!("Request for {team}")
    }
    pub(crate) const REQUEST_FOR_TEAM: &str = "Request for…";

    // Team.
    pub(crate) const REQUEST_GPUS: &str = "Request GPUs";
    /// Holdings are (used, granted, unit), without used where nobody observes it; the end is that of the grant that
    /// ends first.
    pub(crate) fn team_sentence(
        held: &[(Option<u32>, u32, String)],
        ends: Option<(u32, String, Timestamp)>,
    ) -> String {
        if held.is_empty() {
            return "This team holds no GPUs.".to_owned();
        }
        let all: Vec<_> = held.iter().map(|(_, granted, unit)| amount(*granted, unit)).collect();
        let free: Vec<_> = held
            .iter()
            .filter_map(|(used, granted, unit)| {
                let free = granted.checked_sub((*used)?).filter(|free| *free > 0)?;
                Some(amount(free, unit))
            })
            .collect();
        let unseen: Vec<_> =
            held.iter().filter(|(used, ..)| used.is_none()).map(|(.., unit)| unit.clone()).collect();
        let mut text = format!("The team holds {}. ", join(&all));
        if unseen.len() == held.len() {
            text.push_str("Use is not observed.");
        } else {
            text.push_str(&if free.is_empty() {
                "Nothing of it is free to use.".to_owned()
            } else {
                format!("Free to use now: {}.", join(&free))
            });
            if !unseen.is_empty() {
                text.push_str(&format!(" Use of {} is not observed.", join(&unseen)));
            }
        }
        if let Some((n, unit, at)) = ends {
            let last = date(domain::request::last_day(at));
            text.push_str(&format!(" Next to end: {}, after {last}.", amount(n, &unit)));
        }
        text
    }
    /// "a", "a and b", "a, b and c".
    pub(crate) fn join(parts: &[String]) -> String {
        match parts {
            [] => String::new(),
            [one] => one.clone(),
            [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
        }
    }
    pub(crate) const TEAM_EMPTY: &str = "The team holds nothing yet. Ask for GPUs; the form says at once whether it fits, and what is missing if not.";
    pub(crate) const GRANTS: &str = "Grants";
    pub(crate) const LAST_DAY: &str = "Last day";
    pub(crate) const PARTITION: &str = "InfiniBand partition";
    pub(crate) fn partition(key: &str, slot: u16, cluster: &str) -> String {
        format!("{key} in {cluster}, slot {slot}")
    }
    pub(crate) const GIVE_BACK: &str = "Give back";
    pub(crate) const EXTEND: &str = "Extend";
    pub(crate) const CHANGE: &str = "Change";
    pub(crate) const DETAILS: &str = "Details";
    pub(crate) fn over_grant(n: u32, unit: &str) -> String {
        format!(
            "{} run above the grant. They may finish; new pods are refused until less is used.",
            amount(n, unit)
        )
    }

    // Requests.
    pub(crate) fn requests_title(team: &str) -> String {
        format!("Requests of {team}")
    }
    pub(crate) const ALL: &str = "All";
    pub(crate) const REQUESTS_EMPTY: &str = "No request here.";
    pub(crate) const WHAT: &str = "What";
    pub(crate) const WHO: &str = "Who";
    pub(crate) const WHY: &str = "Why";
    pub(crate) const WHEN: &str = "When";
    pub(crate) const STATE: &str = "State";
    pub(crate) const TEXT_NONE: &str = "no reason given";
    pub(crate) fn request_sentence(state: RequestState, by: &str, given: u32, needed: u32) -> String {
        match state {
            RequestState::Submitted if needed > 1 => {
                format!("Asked by {by}. {given} of {needed} people have approved.")
            }
            RequestState::Submitted => format!("Asked by {by}. It waits for an approver."),
            RequestState::Approved => format!("Asked by {by}, and approved."),
            RequestState::Denied => format!("Asked by {by}, and denied."),
            RequestState::Withdrawn => format!("Asked by {by}, and withdrawn."),
        }
    }
    pub(crate) const ASKED: &str = "Asked";
    pub(crate) const POOL_NOW: &str = "The offering now";
    pub(crate) const OFFERING: &str = "Offering";
    pub(crate) const HISTORY: &str = "History";
    pub(crate) const COMMENT: &str = "Comment";
    pub(crate) const COMMENT_BUTTON: &str = "Add the comment";
    pub(crate) const WITHDRAW: &str = "Withdraw the request";
    pub(crate) const WITHDRAW_HELP: &str =
        "Nothing was given yet, so nothing is taken away. You can ask again.";
    pub(crate) const GRANT_OF_REQUEST: &str = "What came of it";
    pub(crate) const SEE_GRANT: &str = "See the grant";
    pub(crate) const BY_RULE: &str = "the pool's rule";
    pub(crate) fn asked_by(name: &str) -> String {
        format!("{name} asked")
    }
    pub(crate) fn approved_by(name: &str) -> String {
        format!("{name} approved")
    }
    pub(crate) fn commented_by(name: &str) -> String {
        format!("{name} wrote")
    }
    pub(crate) const WAS_DENIED: &str = "Denied";
    pub(crate) const WAS_WITHDRAWN: &str = "Withdrawn";

    // New request.
    pub(crate) fn new_request_title(team: &str) -> String {
        format!("Request GPUs for {team}")
    }
    pub(crate) fn change_title(what: &str) -> String {
        format!("Change {what}")
    }
    pub(crate) fn extend_title(what: &str) -> String {
        format!("Extend {what}")
    }
    pub(crate) const NEW_REQUEST_SENTENCE: &str =
        "Say what, how much and how long. An approver decides; the cluster then enforces it.";
    pub(crate) const CHANGE_SENTENCE: &str =
        "Give the whole new amount, not the difference. Until it is approved, everything stays as it is.";
    pub(crate) const EXTEND_SENTENCE: &str =
        "Give a later last day. Until it is approved, the lease ends as agreed.";
    pub(crate) const STEP_WHAT: &str = "What";
    pub(crate) const STEP_AMOUNT: &str = "How much";
    pub(crate) const STEP_WHY: &str = "Why and how long";
    pub(crate) const NODES: &str = "Nodes";
    pub(crate) const PER_NODE: &str = "On each node";
    pub(crate) const NODES_HELP: &str = "Each block lies on one node.";
    pub(crate) const PER_NODE_HELP: &str = "For “anywhere”, take 1 and as many nodes as devices.";
    pub(crate) const WITH_PARTITION: &str = "With the team's InfiniBand partition";
    pub(crate) fn with_partition_help(possible: &[String]) -> String {
        format!(
            "Pods get virtual functions on the fabric, kept apart from other teams. Possible for {}.",
            join(possible)
        )
    }
    pub(crate) const UNTIL: &str = "Last day (UTC)";
    pub(crate) const PURPOSE: &str = "What for";
    pub(crate) const PURPOSE_HELP: &str =
        "The approver reads this. Project, deadline, what happens if it is denied.";
    /// Offerings by the longest lease of their pool, in days.
    pub(crate) fn longest_leases(leases: &BTreeMap<u32, Vec<String>>) -> String {
        let days = |n: u32| count(n, "day", "days");
        if let (1, Some((longest, _))) = (leases.len(), leases.first_key_value()) {
            return format!("At most {}.", days(*longest));
        }
        let each: Vec<_> =
            leases.iter().map(|(n, names)| format!("{} for {}", days(*n), join(names))).collect();
        if each.is_empty() { String::new() } else { format!("At most {}.", each.join("; ")) }
    }
    pub(crate) const MAY_NOT_ASK: &str = "You may not ask for this team";
    pub(crate) const MAY_NOT_ASK_DETAIL: &str =
        "Members and leads of a team send its requests. A lead of the team can change your role.";
    pub(crate) const CHECK: &str = "Check";
    pub(crate) const SEND: &str = "Send the request";
    pub(crate) const NOTHING_TO_ASK: &str = "Nothing can be asked for yet: no offering is there.";

    // Grant.
    pub(crate) fn grant_sentence(state: GrantState, last_day: &str) -> String {
        let end = format!("Last day: {last_day}.");
        format!("{} {end}", grant_state_meaning(state))
    }
    pub(crate) const LAYERS: &str = "How true it is";
    pub(crate) const LAYER_LEDGER: &str = "Ledger";
    pub(crate) const LAYER_NAMESPACE: &str = "Namespace";
    pub(crate) const LAYER_POLICY: &str = "Policy";
    pub(crate) const LAYER_QUOTA: &str = "Quota";
    pub(crate) const LAYER_NETWORK: &str = "Network";
    pub(crate) const LAYER_ACCESS: &str = "Access";
    pub(crate) fn ledger_layer(n: u32, unit: &str) -> String {
        if n == 0 {
            "Nothing is promised any more.".to_owned()
        } else {
            format!("{} are promised to the team.", amount(n, unit))
        }
    }
    pub(crate) fn namespace_layer(namespace: &str, cluster: &str) -> String {
        format!("{namespace} in {cluster}")
    }
    pub(crate) fn probe_refused(asked: &str) -> String {
        format!("Asked for {asked}, and the cluster refused.")
    }
    pub(crate) fn probe_not_refused(asked: &str) -> String {
        format!("Asked for {asked}, and it was not refused by this layer.")
    }
    pub(crate) const PROBE_WAITS: &str = "Not asked yet.";
    pub(crate) const PROBE_UNOBSERVED: &str = "Not asked: gpuaas writes to git and does not see the cluster.";
    pub(crate) const ACCESS_GIVEN: &str = "Role bindings for viewers, members and leads are there.";
    pub(crate) const ACCESS_PUBLISHED: &str =
        "Role bindings for viewers, members and leads are committed to git.";
    pub(crate) const ACCESS_WAITS: &str = "Given when the layers above are proved.";
    pub(crate) const ACCESS_GONE: &str = "Taken away with the last grant in the namespace.";
    pub(crate) const CLUSTER_SAYS: &str = "The cluster's own words";
    pub(crate) const USE: &str = "Use";
    pub(crate) const LEASE: &str = "Lease";
    pub(crate) const SHAPE: &str = "Shape";
    pub(crate) fn shape(nodes: u32, per_node: u32) -> String {
        match (nodes, per_node) {
            (1, n) => format!("{n} on one node"),
            (n, 1) => format!("{n}, on any nodes"),
            (n, each) => format!("{} with {each} on each", count(n, "node", "nodes")),
        }
    }
    pub(crate) const FROM_REQUEST: &str = "From request";
    pub(crate) const SEE_REQUEST: &str = "See the request";
    pub(crate) const WHOLE_OFFERING: &str = "All grants of this offering together";
    pub(crate) const GIVE_BACK_SOME: &str = "Give back a part";
    pub(crate) const GIVE_BACK_SOME_HELP: &str =
        "Say what stays. Running pods are not stopped; new ones are refused above the lower limit.";
    pub(crate) const KEEP_NODES: &str = "Nodes that stay";
    pub(crate) const KEEP_PER_NODE: &str = "On each of them";
    pub(crate) const KEEP_BUTTON: &str = "Give back the rest";
    pub(crate) const GIVE_BACK_ALL_TITLE: &str = "Give back everything";
    pub(crate) fn give_back_all_help(unit: &str) -> String {
        format!(
            "The quota of {unit} goes down by all of this grant. Running pods finish, nothing is deleted, and the team can ask again."
        )
    }
    pub(crate) fn give_back_all(n: u32, unit: &str) -> String {
        format!("Give back {}", amount(n, unit))
    }
    pub(crate) const WAITING_FOR: &str = "Waits for";

    // Manifests.
    pub(crate) fn manifests_title(team: &str) -> String {
        format!("Manifests of {team}")
    }
    pub(crate) fn manifests_sentence(all: u32, differ: u32, missing: u32, unseen: u32) -> String {
        if all == 0 {
            return "Nothing is written for this team.".to_owned();
        }
        let mut text = format!("{} written for this team.", count(all, "object is", "objects are"));
        if unseen == all {
            text.push_str(" They are committed to git; the cluster is not observed.");
        } else if differ + missing == 0 {
            text.push_str(" The cluster holds all of them as they should be.");
        } else {
            text.push_str(&format!(
                " In the cluster {}, and {}.",
                count(differ, "differs", "differ"),
                count(missing, "is missing", "are missing")
            ));
        }
        text
    }
    pub(crate) const MANIFESTS_EMPTY: &str = "Objects are written when a first request is approved.";
    pub(crate) const SAME: &str = "as desired";
    pub(crate) const DIFFERS: &str = "differs";
    pub(crate) const MISSING: &str = "missing";
    pub(crate) const UNSEEN: &str = "not observed";
    pub(crate) const DESIRED: &str = "Desired";
    pub(crate) const LIVE: &str = "Live, only the fields that gpuaas sets";
    pub(crate) const DIFF: &str = "Difference, from live to desired";
    pub(crate) const CLUSTER_WIDE: &str = "cluster-wide";

    // Members.
    pub(crate) fn members_title(team: &str) -> String {
        format!("Members of {team}")
    }
    pub(crate) fn members_sentence(all: u32, leads: u32) -> String {
        format!("{}, {}.", count(all, "person", "people"), count(leads, "lead", "leads"))
    }
    pub(crate) const MEMBERS_EMPTY: &str = "Nobody is in this team yet.";
    pub(crate) const ROLE: &str = "Role";
    pub(crate) const SAVE: &str = "Save";
    pub(crate) const REMOVE: &str = "Remove";
    pub(crate) const ADD_MEMBER: &str = "Add a person";
    pub(crate) const ADD: &str = "Add";
    pub(crate) const ACTIONS: &str = "Change";
    pub(crate) fn save_role(name: &str) -> String {
        format!("Save the role of {name}")
    }
    pub(crate) fn role_of(name: &str) -> String {
        format!("Role of {name}")
    }
    pub(crate) fn remove(name: &str) -> String {
        format!("Remove {name}")
    }

    // Inbox.
    pub(crate) fn inbox_sentence(n: u32, fit: u32) -> String {
        match n {
            0 => "Nothing waits for you.".to_owned(),
            1 => format!("1 request waits; it {} now.", if fit == 1 { "fits" } else { "does not fit" }),
            n if n == fit => format!("{n} requests wait; each of them fits now."),
            n => format!("{n} requests wait; {fit} of them {} now.", if fit == 1 { "fits" } else { "fit" }),
        }
    }
    pub(crate) const INBOX_EMPTY: &str =
        "New requests appear here. What was decided stands in the audit list and with each team.";
    pub(crate) const SEE_AUDIT: &str = "See the audit list";
    pub(crate) fn approve(what: &str) -> String {
        format!("Approve {what}")
    }
    pub(crate) fn deny(what: &str) -> String {
        format!("Deny {what}")
    }
    pub(crate) const DENY_DOTS: &str = "Deny…";
    pub(crate) const REASON: &str = "Reason, which the team sees";
    pub(crate) const OWN_REQUEST: &str = "You wrote this request; another approver decides it.";
    pub(crate) const APPROVED_BY_YOU: &str = "You have approved it; another person must too.";
    pub(crate) const APPROVERS_DECIDE: &str = "An approver decides it.";
    pub(crate) fn after_this(free: u32, limit: u32, unit: &str) -> String {
        format!("After this: {free} of {limit} {unit} left")
    }
    pub(crate) fn now_free(free: u32, limit: u32, unit: &str) -> String {
        format!("Now: {free} of {limit} {unit} free")
    }
    pub(crate) fn nothing_more(free: u32, limit: u32, unit: &str) -> String {
        format!("Takes nothing more: {free} of {limit} {unit} stay free")
    }
    pub(crate) fn approvals(given: u32, needed: u32) -> String {
        format!("{given} of {needed} approvals")
    }
    pub(crate) const FITS: &str = "fits";
    pub(crate) const SHORT: &str = "does not fit";
    /// A name with its key: "Atlas vision (vision)".
    pub(crate) fn called(display: &str, key: &str) -> String {
        if display == key { key.to_owned() } else { format!("{display} ({key})") }
    }
    pub(crate) fn asked_for(team: &str, by: &str) -> String {
        format!("{team} · {by}")
    }

    // Dashboard.
    /// `seen` is what runs, what is granted and not used, and how much is granted where nobody observes use; the first
    /// two are none where no offering is observed, the last where each is.
    pub(crate) fn dashboard_sentence(
        granted: &str,
        all: &str,
        (used, unseen): (Option<(String, String)>, Option<String>),
        waiting: u32,
    ) -> String {
        let waits = match waiting {
            0 => "no request waits".to_owned(),
            1 => "1 request waits".to_owned(),
            n => format!("{n} requests wait"),
        };
        let mut text = format!("{granted} of {all} effective GPUs are granted");
        match (used, unseen) {
            (None, _) => text.push_str("; their use is not observed"),
            (Some((running, idle)), unseen) => {
                text.push_str(&format!(", {running} run, {idle} are granted but not used"));
                if let Some(unseen) = unseen {
                    text.push_str(&format!(", the use of {unseen} is not observed"));
                }
            }
        }
        format!("{text}; {waits}.")
    }
    pub(crate) const DASHBOARD_EMPTY_SENTENCE: &str =
        "There is no offering yet, so nothing can be asked for.";
    pub(crate) const DASHBOARD_EMPTY: &str =
        "Add a cluster, a pool and an offering through the API; the fleet page shows what is there.";
    pub(crate) const OFFERINGS: &str = "Offerings";
    pub(crate) const LARGEST_FREE: &str = "largest free block";
    pub(crate) const NO_NODES: &str = "no node is known";
    pub(crate) fn still_held(n: u32, unit: &str) -> String {
        format!("{} are held or used above their grants", amount(n, unit))
    }
    pub(crate) const TEAMS_EMPTY: &str = "No team holds anything.";
    pub(crate) const GRANTED: &str = "Granted";
    pub(crate) const IDLE: &str = "Not used";
    pub(crate) const IN_USE: &str = "In use";
    pub(crate) const IN_USE_LOW: &str = "in use";
    pub(crate) const EFFECTIVE_MEANING: &str =
        "Effective GPUs: a slice or a share counts as the larger of its part of compute and of memory.";
    /// A figure of use, and how much is granted where use is not observed.
    pub(crate) fn partly_observed(seen: &str, unseen: &str) -> String {
        format!("{seen}, and {unseen} not observed")
    }
    pub(crate) fn more_teams(n: u32) -> String {
        format!("Show all {n} teams")
    }
    pub(crate) const ENFORCEMENT: &str = "Enforcement";
    pub(crate) fn enforcement_sentence(good: u32, bad: u32) -> String {
        match bad {
            0 => format!(
                "{} proved or published; nothing lags.",
                count(good, "namespace is", "namespaces are")
            ),
            b => format!(
                "{} proved or published; {} not.",
                count(good, "namespace is", "namespaces are"),
                count(b, "is", "are")
            ),
        }
    }
    pub(crate) const ENDING_SOON: &str = "Ending within 14 days";
    pub(crate) const NOTHING_ENDS: &str = "No lease ends within 14 days.";
    pub(crate) const BALANCES_DIFFER: &str = "Balances and ledger events do not agree. Do not approve anything until an admin has looked at the log.";
    pub(crate) const NAMESPACE: &str = "Namespace";
    pub(crate) const REASON_SHORT: &str = "Reason";
    pub(crate) const CONFIRMED: &str = "Last confirmed";
    pub(crate) const NEVER: &str = "never";

    // Fleet.
    /// `nodes` and `down` are of observed clusters; `imported` are nodes of the others, of which nobody knows the state.
    pub(crate) fn fleet_sentence(clusters: u32, ready: u32, nodes: u32, down: u32, imported: u32) -> String {
        if clusters == 0 {
            return "There is no cluster yet.".to_owned();
        }
        let mut text = format!("{}, {ready} ready; ", count(clusters, "cluster", "clusters"));
        text.push_str(&match down {
            _ if nodes == 0 && imported > 0 => {
                return format!("{text}{} imported, not observed.", count(imported, "node", "nodes"));
            }
            0 => format!("{} shown, all ready.", count(nodes, "node", "nodes")),
            d => format!("{} shown, {d} not ready.", count(nodes, "node", "nodes")),
        });
        if imported > 0 {
            text.push_str(&format!(" {} imported, not observed.", count(imported, "more is", "more are")));
        }
        text
    }
    pub(crate) const FLEET_EMPTY: &str =
        "Register one with POST /api/v1/clusters and its admin kubeconfig, or with writer “git”.";
    pub(crate) const CLUSTERS: &str = "Clusters";
    pub(crate) const CLUSTER: &str = "Cluster";
    pub(crate) const POOLS: &str = "Pools";
    pub(crate) const POOL: &str = "Pool";
    pub(crate) const NODE: &str = "Node";
    pub(crate) const WRITER: &str = "Writes to";
    pub(crate) const OBSERVED: &str = "Last seen";
    pub(crate) const NOT_OBSERVED: &str = "not observed";
    pub(crate) const SLOTS: &str = "Fabric slots";
    pub(crate) const MODEL: &str = "Model";
    pub(crate) const MODE: &str = "Given out as";
    pub(crate) const SELECTOR: &str = "Nodes with";
    pub(crate) const DECLARED: &str = "Declared";
    pub(crate) const WORTH: &str = "GPUs each";
    pub(crate) const KIND: &str = "Kind";
    pub(crate) fn nodes_of(cluster: &str) -> String {
        format!("Nodes of {cluster}")
    }
    pub(crate) const NODES_EMPTY: &str =
        "No node is known: the cluster is not observed, and none was imported.";
    pub(crate) const WRITTEN_TO_GIT: &str = "written to git";
    pub(crate) fn there_are(all: u32, resource: &str) -> String {
        format!("{all} {resource}")
    }
    pub(crate) fn fabric_use(used: Option<u32>, all: u32, resources: u32) -> String {
        let of = count(resources, "partition slot", "partition slots");
        match used {
            Some(used) => format!("Fabric: {used} of {all} virtual functions in use, in {of}"),
            None => format!("Fabric: {all} virtual functions in {of}"),
        }
    }
    pub(crate) fn used_of(used: u32, all: u32, resource: &str) -> String {
        format!("{used} of {all} {resource} in use")
    }

    // Audit.
    pub(crate) const AUDIT_SENTENCE: &str = "Who did what, newest first. Nothing here can be changed.";
    pub(crate) const AUDIT_EMPTY: &str = "Nothing found.";
    pub(crate) const ACTION: &str = "Action";
    pub(crate) const SUBJECT: &str = "What it was done to";
    pub(crate) const ACTION_HELP: &str = "begins with, as in “request.”";
    pub(crate) const FILTER: &str = "Filter";
    pub(crate) const RESET: &str = "Show all";
    pub(crate) const SYSTEM: &str = "gpuaas itself";

    // Problems.
    pub(crate) const NOT_FOUND: &str = "Not found";
    pub(crate) const NOT_FOUND_DETAIL: &str =
        "There is no such page, or it is about a team that you are not a member of.";
    pub(crate) const TO_HOME: &str = "Go to your teams";
    pub(crate) const REQUEST_ID: &str = "Id of this request, for the log";

    /// Name of a field in a summary of errors.
    pub(crate) fn field(name: &str) -> String {
        match name {
            "login" => LOGIN,
            "password" => PASSWORD,
            "display" => DISPLAY,
            "offering" => OFFERING,
            "nodes" => NODES,
            "per_node" => PER_NODE,
            "partition" => PARTITION,
            "until" => UNTIL,
            "purpose" => PURPOSE,
            "text" => REASON_SHORT,
            "role" => ROLE,
            other => return other.to_owned(),
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_says_becomes_a_sentence() {
        let gone = "does not exist, or you may not see it";
        assert_eq!(sentence(&format!("team vision {gone}")), format!("Team vision {gone}."));
        assert_eq!(sentence(&format!("team team-0007 {gone}")), format!("“team-0007” {gone}."));
        assert_eq!(sentence("It is there."), "It is there.");
        assert_eq!(sentence("gone"), "Gone.");
        assert_eq!(sentence(""), "");
    }
}
