//! Registers a cluster: static objects, identities, and a wait until the tenant policy answers.

use cluster::{Link, LinkOptions, registration};
use domain::{
    fleet::{Cluster, Registration},
    name::ClusterName,
};
use tokio::sync::mpsc;

use super::hindrance::Hindrance;
use crate::{App, AppError, Result, access::Deed, fleet, jobs};

/// One try. The admin's kubeconfig is forgotten when it succeeded.
pub(super) async fn run(app: &App, name: &ClusterName) -> std::result::Result<(), Hindrance> {
    let mut conn = app.store().read().await.map_err(AppError::from)?;
    let cluster = fleet::find_cluster(&mut conn, name).await?;
    let Some(kubeconfig) = app.open_secret(&mut conn, name, "admin").await? else { return Ok(()) };
    drop(conn);
    match install(app, name, &kubeconfig).await {
        Ok(identities) => Ok(keep(app, &cluster, &identities).await?),
        Err(error) => {
            let reason = error.to_string();
            set(app, name, &Registration::Blocked { reason: reason.clone() }).await?;
            Err(Hindrance::later(reason))
        }
    }
}

async fn install(
    app: &App,
    name: &ClusterName,
    kubeconfig: &str,
) -> std::result::Result<registration::Identities, cluster::ClusterError> {
    let admin = Link::connect(kubeconfig, LinkOptions::default()).await?;
    let (send, mut steps) = mpsc::unbounded_channel::<String>();
    let (writer, cluster) = (app.clone(), name.clone());
    let watching = tokio::spawn(async move {
        while let Some(waiting_for) = steps.recv().await {
            if let Err(error) = set(&writer, &cluster, &Registration::Registering { waiting_for }).await {
                tracing::warn!(%cluster, %error, "the progress of a registration could not be stored");
            }
        }
    });
    let installed = registration::install(&admin, kubeconfig, move |step| drop(send.send(step))).await;
    // The sender is gone with the closure, so the writer ends and cannot overwrite the final state.
    if let Err(error) = watching.await {
        tracing::warn!(%error, "the progress of a registration was not followed to its end");
    }
    installed
}

async fn keep(app: &App, cluster: &Cluster, identities: &registration::Identities) -> Result<()> {
    let name = &cluster.name;
    let emitter = app.seal(name, "emitter", &identities.emitter)?;
    let probe = app.seal(name, "probe", &identities.probe)?;
    let mut tx = app.store().begin().await?;
    store::clusters::set_secret(&mut tx, name, "emitter", &emitter).await?;
    store::clusters::set_secret(&mut tx, name, "probe", &probe).await?;
    store::clusters::forget_secret(&mut tx, name, "admin").await?;
    store::clusters::set_registration(&mut tx, name, &Registration::Ready).await?;
    jobs::enqueue_cluster(app, &mut tx, name).await?;
    let deed = Deed {
        action: "cluster.registered",
        subject: format!("cluster/{name}"),
        team: None,
        detail: serde_json::json!({}),
    };
    app.audit_job(&mut tx, "registration", deed).await?;
    tx.commit().await?;
    app.inner.members.remove(name);
    Ok(())
}

async fn set(app: &App, name: &ClusterName, registration: &Registration) -> Result<()> {
    let mut tx = app.store().begin().await?;
    store::clusters::set_registration(&mut tx, name, registration).await?;
    Ok(tx.commit().await?)
}
