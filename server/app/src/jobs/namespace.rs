//! Makes a namespace what the ledger says: decide the move of each quota, plan, write, prove, write back.

use std::{collections::BTreeMap, time::Duration};

use cluster::EnforceError;
use domain::{
    api::{Enforcement, NamespaceView, ProbeAnswer},
    fleet::{Cluster, Registration, Writer},
    grant::{Grant, GrantState, Happening, follow},
    ledger::Step,
    name::{ClusterName, NamespaceName},
    resource::ResourceName,
};
use plan::Tenancy;
use store::{Tx, ledger::Event};

use super::{enqueue_waiting, hindrance::Hindrance};
use crate::{
    App, AppError, Result,
    access::Deed,
    fleet,
    tenancy::{self, Placed},
};

/// Longest time for the cluster in one pass. Shorter than a job's claim, so that a slow pass with old limits cannot
/// still write after another process has taken the job over.
const LIMIT: Duration = Duration::from_secs(90);

/// Probes are asked again when the last answers are older than this; the regular pass comes every ten minutes.
const PROOF_LASTS: chrono::Duration = chrono::Duration::minutes(9);

/// What a pass saw in the cluster.
#[derive(Default)]
struct Seen {
    answers: Vec<ProbeAnswer>,
    /// Devices in use by the quota's own count, of the same moment as the limits. The observer's figures come later,
    /// and a raise of others must not be decided on what was before the lowering.
    used: BTreeMap<ResourceName, u32>,
}

/// A namespace as it is to be written in this pass.
struct Prepared {
    cluster: Cluster,
    view: NamespaceView,
    lines: Vec<Placed>,
    tenancy: Tenancy,
}

/// One pass.
pub(super) async fn run(
    app: &App,
    cluster: &ClusterName,
    namespace: &NamespaceName,
) -> std::result::Result<(), Hindrance> {
    let Some(prepared) = prepare(app, cluster, namespace).await? else { return Ok(()) };
    match write(app, &prepared).await {
        Ok(seen) => Ok(settle(app, &prepared, seen).await?),
        Err(hindrance) => {
            block(app, &prepared.view, &hindrance.reason).await?;
            Err(hindrance)
        }
    }
}

/// Decides the moves under the locks of all offerings that live here. A raise is reserved before it is written,
/// so that no other raise can use the same room.
async fn prepare(app: &App, cluster: &ClusterName, namespace: &NamespaceName) -> Result<Option<Prepared>> {
    let mut tx = app.store().begin().await?;
    let Some(view) = store::namespaces::find(&mut tx, cluster, namespace).await? else { return Ok(None) };
    let cluster = fleet::find_cluster(&mut tx, cluster).await?;
    let mut lines = vec![];
    for name in tenancy::offerings(&mut tx, &view).await? {
        fleet::lock_offering(&mut tx, &name).await?;
        let line = tenancy::placed(&mut tx, &view, &name).await?;
        if let Step::Raise { to } = line.step {
            hold(app, &mut tx, &view, &line, to, "raised").await?;
        }
        lines.push(line);
    }
    let tenancy = app.tenancy(&mut tx, &cluster, &view, &lines).await?;
    tx.commit().await?;
    Ok(Some(Prepared { cluster, view, lines, tenancy }))
}

async fn write(app: &App, prepared: &Prepared) -> std::result::Result<Seen, Hindrance> {
    let desired = plan::desired(&prepared.tenancy);
    match prepared.cluster.writer {
        Writer::Git => {
            publish(app, prepared, &desired).await?;
            Ok(Seen::default())
        }
        Writer::Kubernetes => enforce(app, prepared, &desired).await,
    }
}

async fn enforce(
    app: &App,
    prepared: &Prepared,
    desired: &plan::Desired,
) -> std::result::Result<Seen, Hindrance> {
    let (cluster, now) = (&prepared.cluster, app.now());
    if cluster.registration != Registration::Ready {
        return Err(Hindrance::soon(format!("cluster {} is not registered yet", cluster.name)));
    }
    let Some(member) = app.inner.members.get(&cluster.name) else {
        let reason = format!("this process is not connected to cluster {} yet", cluster.name);
        return Err(Hindrance::soon(reason));
    };
    let proof_is_old = prepared.view.confirmed_at.is_none_or(|at| now - at > PROOF_LASTS);
    let pass = async {
        let mut done = member.enforce(desired).await?;
        // A pass that sends nothing answers with the proof that it has; once in a while the cluster is asked again.
        if done.sent == 0 && proof_is_old {
            done.answers = member.prove(desired).await?;
        }
        Ok(done)
    };
    let Ok(done) = tokio::time::timeout(LIMIT, pass).await else {
        return Err(Hindrance::later(format!("the cluster did not finish within {} s", LIMIT.as_secs())));
    };
    let done = done.map_err(|error: EnforceError| Hindrance::later(error.to_string()))?;
    let dated = done.answers.into_iter().map(|a| ProbeAnswer {
        layer: a.layer,
        asked: a.asked,
        refused: a.refused,
        text: a.text,
        at: now,
    });
    Ok(Seen { answers: dated.collect(), used: done.used })
}

async fn publish(app: &App, prepared: &Prepared, desired: &plan::Desired) -> Result<()> {
    let Some(repo) = &app.inner.parts.repo else {
        return Err(AppError::conflict("no git repository is configured; start gpuaas with --git DIR"));
    };
    let Prepared { tenancy, view, .. } = prepared;
    let amounts: Vec<_> = tenancy.lines.iter().map(|l| format!("{} × {}", l.hard, l.offering.name)).collect();
    let commit = gitops::Commit {
        folder: format!("{}/{}/{}", view.cluster, view.team, view.name),
        files: plan::git::files(desired, tenancy.open),
        message: format!("{}: {}", view.name, amounts.join(", ")),
        at: app.now(),
        author: "gpuaas".to_owned(),
    };
    repo.commit(&commit).await.map_err(|e| AppError::internal("the git repository cannot be written", e))?;
    Ok(())
}

/// Writes back what is now true.
async fn settle(app: &App, prepared: &Prepared, seen: Seen) -> Result<()> {
    let mut tx = app.store().begin().await?;
    for written in &prepared.lines {
        fleet::lock_offering(&mut tx, &written.offering.name).await?;
    }
    let Prepared { cluster, view, .. } = prepared;
    store::ledger::note_used(&mut tx, &cluster.name, &view.name, &seen.used, app.now()).await?;
    let (mut current, mut lowered) = (vec![], vec![]);
    for written in &prepared.lines {
        let line = tenancy::placed(&mut tx, &prepared.view, &written.offering.name).await?;
        // Where nobody observes the cluster, a lower limit counts only on an admin's word.
        if prepared.cluster.writer == Writer::Kubernetes && written.hard() < line.held {
            hold(app, &mut tx, &prepared.view, &line, written.hard(), "lowered and reported").await?;
            lowered.push(written.offering.name.clone());
        }
        current.push(line);
    }
    enqueue_waiting(app, &mut tx, &lowered).await?;
    for grant in store::grants::of_namespace(&mut tx, &prepared.view.cluster, &prepared.view.name).await? {
        settle_grant(&mut tx, prepared, &current, grant).await?;
    }
    let enforcement = match prepared.cluster.writer {
        Writer::Git => Enforcement::Published,
        Writer::Kubernetes => Enforcement::Enforced,
    };
    let view = NamespaceView {
        enforcement,
        confirmed_at: Some(app.now()),
        probes: seen.answers,
        ..prepared.view.clone()
    };
    store::namespaces::set(&mut tx, &view).await?;
    tx.commit().await?;
    app.inner.wake.notify_one();
    Ok(())
}

/// A grant follows only if what was written is still what is granted; else the next pass, which is queued already,
/// will see to it.
async fn settle_grant(tx: &mut Tx, prepared: &Prepared, current: &[Placed], grant: Grant) -> Result<()> {
    let written = prepared.lines.iter().find(|l| l.offering.name == grant.offering);
    let now = current.iter().find(|l| l.offering.name == grant.offering);
    let (Some(written), Some(now)) = (written, now) else { return Ok(()) };
    let blocked = match written.step {
        Step::Wait { missing } => {
            Some(format!("waits until {missing} devices that other teams give back are reported free"))
        }
        _ if written.hard() != now.granted => return Ok(()),
        // An ending grant waits for the admin's word where nobody observes the cluster.
        Step::Lower { .. }
            if prepared.cluster.writer == Writer::Git && grant.state == GrantState::Reducing =>
        {
            Some("waits for an admin's word that the commit is applied".to_owned())
        }
        _ => None,
    };
    let state = if blocked.is_some() {
        grant.state
    } else {
        follow(grant.state, Happening::Settled, prepared.cluster.writer).unwrap_or(grant.state)
    };
    if state != grant.state || blocked != grant.blocked {
        store::grants::update(tx, &Grant { state, blocked, ..grant }).await?;
    }
    Ok(())
}

/// An admin's word that what was committed is applied: lowered limits count as reported, ending grants end.
pub(crate) async fn confirm_lowered(
    app: &App,
    tx: &mut Tx,
    cluster: &Cluster,
    view: &NamespaceView,
) -> Result<()> {
    let mut lowered = vec![];
    for name in tenancy::offerings(tx, view).await? {
        fleet::lock_offering(tx, &name).await?;
        let line = tenancy::placed(tx, view, &name).await?;
        if line.granted < line.held {
            hold(app, tx, view, &line, line.granted, "lowered, on an admin's word").await?;
            lowered.push(name);
        }
    }
    enqueue_waiting(app, tx, &lowered).await?;
    for grant in store::grants::of_namespace(tx, &view.cluster, &view.name).await? {
        if grant.state == GrantState::Reducing
            && let Some(state) = follow(grant.state, Happening::Settled, cluster.writer)
        {
            store::grants::update(tx, &Grant { state, blocked: None, ..grant }).await?;
        }
    }
    Ok(())
}

/// Moves what the cluster may hold.
async fn hold(
    app: &App,
    tx: &mut Tx,
    view: &NamespaceView,
    line: &Placed,
    to: u32,
    reason: &str,
) -> Result<()> {
    let event = Event {
        id: app.id(),
        offering: line.offering.name.clone(),
        team: view.team.clone(),
        grant: None,
        granted: 0,
        held: i64::from(to) - i64::from(line.held),
        reason: format!("quota of namespace {} {reason}", view.name),
        at: app.now(),
    };
    Ok(store::ledger::post(tx, &event).await?)
}

/// Says what hinders the namespace, beside the states of its grants, which stay what they were.
async fn block(app: &App, view: &NamespaceView, reason: &str) -> Result<()> {
    let blocked = Enforcement::Blocked { reason: reason.to_owned() };
    let mut tx = app.store().begin().await?;
    if view.enforcement != blocked {
        store::namespaces::set(&mut tx, &NamespaceView { enforcement: blocked, ..view.clone() }).await?;
        let detail = serde_json::json!({"reason": reason});
        app.audit_job(
            &mut tx,
            "enforcement",
            Deed {
                action: "namespace.blocked",
                subject: format!("namespace/{}", view.name),
                team: Some(&view.team),
                detail,
            },
        )
        .await?;
    }
    for grant in store::grants::of_namespace(&mut tx, &view.cluster, &view.name).await? {
        let unfinished = matches!(grant.state, GrantState::Applying | GrantState::Reducing);
        if unfinished && grant.blocked.as_deref() != Some(reason) {
            store::grants::update(&mut tx, &Grant { blocked: Some(reason.to_owned()), ..grant }).await?;
        }
    }
    Ok(tx.commit().await?)
}
