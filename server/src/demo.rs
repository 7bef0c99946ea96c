//! A demo for an empty database, made with the use-cases that people use: accounts, teams, a fleet, grants and
//! requests that wait, so that every page shows something.

mod fleet;

use std::{
    fmt::Write as _,
    io::{self, Write},
    path::Path,
};

use app::{App, AppError, Ctx, Entropy as _, Once};
use chrono::{Days, NaiveDate};
use domain::{
    api::{NewRequest, NewTeam, NewUser, RequestView, Text},
    id::UserId,
    name::{DisplayName, NameError, OfferingName, TeamName},
    people::{PlatformRole, TeamRole},
    request::Ask,
    shape::Shape,
};

use crate::wire::SystemEntropy;

/// Teams that have people, grants and requests; more are only names.
const TEAMS: [(&str, &str); 6] = [
    ("vision", "Vision"),
    ("language", "Language"),
    ("robotics", "Robotics"),
    ("speech", "Speech"),
    ("simulation", "Simulation"),
    ("recommendation", "Recommendation"),
];

/// Why a demo cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A use-case refused.
    #[error("the demo was refused")]
    App(#[from] AppError),
    /// A name of the demo is none.
    #[error("a name of the demo is wrong")]
    Name(#[from] NameError),
    /// The kubeconfig cannot be read, or the passwords cannot be printed.
    #[error("{what}")]
    Io {
        /// Which.
        what: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A part of the demo is not what its own rules say.
    #[error("the demo is wrong: {0}")]
    Wrong(String),
}

type Result<T> = std::result::Result<T, DemoError>;

/// People of the demo.
struct People {
    admin: Ctx,
    approver: Ctx,
    lead: Ctx,
    member: Ctx,
}

/// Fills an empty database, and prints the passwords; where there is an account already, nothing is done.
///
/// # Errors
/// When a use-case refuses, or the kubeconfig cannot be read.
pub async fn seed(
    app: &App,
    teams: u32,
    kubeconfig: Option<&Path>,
    out: &mut (impl Write + Send),
) -> Result<()> {
    let Some(token) = app.first_start_token().await? else { return Ok(()) };
    let (people, passwords) = people(app, &token).await?;
    fleet::seed(app, &people.admin, kubeconfig).await?;
    make_teams(app, &people.admin, teams).await?;
    let people = people.fresh(app).await?;
    ask(app, &people).await?;
    let printed = out.write_all(passwords.as_bytes());
    printed.map_err(|source| DemoError::Io { what: "the passwords cannot be printed".to_owned(), source })
}

fn password() -> String {
    let mut bytes = [0; 9];
    SystemEntropy.fill(&mut bytes);
    hex::encode(bytes)
}

async fn people(app: &App, token: &str) -> Result<(People, String)> {
    let mut printed = "Demo accounts (login and password, shown once):\n".to_owned();
    let mut note = |login: &str| {
        let password = password();
        // Writing to a String cannot fail.
        let _ = writeln!(printed, "  {login:<10}{password}");
        password
    };
    let first = note("admin");
    let admin = Ctx { actor: app.finish_setup(token, "admin", "Demo admin", &first).await? };
    let accounts = [
        ("approver", "Demo approver", vec![PlatformRole::Approver]),
        ("auditor", "Demo auditor", vec![PlatformRole::Auditor]),
        ("lead", "Demo lead", vec![]),
        ("member", "Demo member", vec![]),
    ];
    let mut made = vec![];
    for (login, display, platform) in accounts {
        let password = note(login);
        let new =
            NewUser { login: login.to_owned(), display: DisplayName::new(display)?, password, platform };
        made.push(app.create_user(&admin, new, Once::none()).await?);
    }
    let [approver, _, lead, member] = made.as_slice() else {
        return Err(DemoError::Wrong("four accounts were made".to_owned()));
    };
    let people = People {
        approver: actor(app, approver.id).await?,
        lead: actor(app, lead.id).await?,
        member: actor(app, member.id).await?,
        admin,
    };
    Ok((people, printed))
}

async fn actor(app: &App, user: UserId) -> Result<Ctx> {
    let actor = app.actor(user).await?.ok_or_else(|| DemoError::Wrong("an account is gone".to_owned()))?;
    Ok(Ctx { actor })
}

impl People {
    /// The same people with the roles that they have now.
    async fn fresh(self, app: &App) -> Result<Self> {
        Ok(Self {
            admin: actor(app, self.admin.actor.user).await?,
            approver: actor(app, self.approver.actor.user).await?,
            lead: actor(app, self.lead.actor.user).await?,
            member: actor(app, self.member.actor.user).await?,
        })
    }
}

async fn make_teams(app: &App, admin: &Ctx, count: u32) -> Result<()> {
    for (name, display) in TEAMS {
        let team = TeamName::new(name)?;
        let new = NewTeam { name: team.clone(), display: DisplayName::new(display)? };
        app.create_team(admin, new, Once::none()).await?;
        app.set_member(admin, &team, "lead", TeamRole::Lead).await?;
        let role = if name == "speech" { TeamRole::Viewer } else { TeamRole::Member };
        app.set_member(admin, &team, "member", role).await?;
    }
    let named = u32::try_from(TEAMS.len()).unwrap_or(u32::MAX);
    for number in named..count {
        let name = format!("team-{:04}", number + 1);
        let new = NewTeam {
            name: TeamName::new(&name)?,
            display: DisplayName::new(format!("Team {:04}", number + 1))?,
        };
        app.create_team(admin, new, Once::none()).await?;
    }
    Ok(())
}

/// An ask of the demo.
#[derive(Clone, Copy)]
struct Wish {
    team: &'static str,
    offering: &'static str,
    shape: (u32, u32),
    partition: bool,
    /// From today, in days.
    days: u64,
    purpose: &'static str,
    approved: bool,
}

const fn wish(
    team: &'static str,
    offering: &'static str,
    shape: (u32, u32),
    days: u64,
    purpose: &'static str,
) -> Wish {
    Wish { team, offering, shape, partition: false, days, purpose, approved: true }
}

const fn waiting(wish: Wish) -> Wish {
    Wish { approved: false, ..wish }
}

const fn with_partition(wish: Wish) -> Wish {
    Wish { partition: true, ..wish }
}

const WISHES: [Wish; 9] = [
    with_partition(wish(
        "vision",
        "h100",
        (2, 8),
        60,
        "Pre-training of the detector, two nodes over InfiniBand",
    )),
    wish("vision", "a100-1g-10gb", (1, 4), 30, "Notebooks of the annotation tools"),
    with_partition(wish("language", "h100", (1, 8), 14, "Fine-tuning, one node")),
    wish("language", "l40s-shared", (1, 2), 90, "Demos of the assistant"),
    wish("robotics", "b300", (1, 8), 45, "World model, first runs"),
    wish("simulation", "a100-3g-40gb", (1, 2), 7, "Regression runs of the simulator"),
    waiting(wish("robotics", "h100", (1, 8), 30, "Policy training; the B300 nodes are too few")),
    waiting(wish("simulation", "a100-1g-10gb", (1, 6), 60, "More parallel regression runs")),
    waiting(wish("recommendation", "b300", (2, 8), 30, "Full retraining of the ranking model")),
];

async fn ask(app: &App, people: &People) -> Result<()> {
    let today = app.now().date_naive();
    for wish in WISHES {
        let team = TeamName::new(wish.team)?;
        let new = NewRequest { ask: wish.ask(today)?, purpose: wish.purpose.to_owned() };
        let view = app.submit_request(&people.member, &team, new, Once::none()).await?;
        if wish.approved {
            decide(app, people, &team, &view).await?;
        } else {
            let text = Text { text: "We can start as soon as it is approved.".to_owned() };
            app.comment(&people.lead, &team, view.request.id, text, Once::none()).await?;
        }
    }
    Ok(())
}

/// The approver's yes, and a second person's where the rule wants it.
async fn decide(app: &App, people: &People, team: &TeamName, view: &RequestView) -> Result<()> {
    for by in [&people.approver, &people.admin]
        .into_iter()
        .take(usize::try_from(view.approvals_needed).unwrap_or(2))
    {
        if view.request.decided_at.is_none() {
            app.approve_request(by, team, view.request.id, None).await?;
        }
    }
    Ok(())
}

impl Wish {
    fn ask(&self, today: NaiveDate) -> Result<Ask> {
        let (nodes, per_node) = self.shape;
        let until = today.checked_add_days(Days::new(self.days));
        Ok(Ask::New {
            offering: OfferingName::new(self.offering)?,
            shape: Shape { nodes, per_node },
            partition: self.partition,
            until: until.ok_or_else(|| DemoError::Wrong("the calendar ends".to_owned()))?,
        })
    }
}
