//! Emitted objects beside what is there.

use domain::{
    api::{EmittedObject, NamespaceView},
    authz::Action,
    fleet::Writer,
    name::TeamName,
};
use plan::manifest::Manifest;

use crate::{App, AppError, Ctx, Result, fleet, teams, tenancy};

impl App {
    /// All objects of a team's namespaces: desired, live and what differs.
    ///
    /// # Errors
    /// When the team is not to be seen, or an observed cluster does not answer.
    pub async fn manifests(&self, ctx: &Ctx, team: &TeamName) -> Result<Vec<EmittedObject>> {
        ctx.allow_for(Action::ReadTeam, team)?;
        let mut conn = self.store().read().await?;
        teams::find(&mut conn, team).await?;
        let views = store::namespaces::of_team(&mut conn, team).await?;
        drop(conn);
        let mut objects = vec![];
        for view in views {
            objects.extend(self.manifests_of(&view).await?);
        }
        Ok(objects)
    }

    async fn manifests_of(&self, view: &NamespaceView) -> Result<Vec<EmittedObject>> {
        let mut conn = self.store().read().await?;
        let cluster = fleet::find_cluster(&mut conn, &view.cluster).await?;
        let mut lines = vec![];
        for name in tenancy::offerings(&mut conn, view).await? {
            lines.push(tenancy::placed(&mut conn, view, &name).await?);
        }
        let tenancy = self.tenancy(&mut conn, &cluster, view, &lines).await?;
        drop(conn);
        let desired = plan::desired(&tenancy);
        let mut objects = vec![];
        for manifest in desired.all() {
            let (live, diff) = match cluster.writer {
                Writer::Git => (None, None),
                Writer::Kubernetes => self.beside(view, manifest).await?,
            };
            objects.push(EmittedObject {
                cluster: view.cluster.clone(),
                namespace: manifest.namespace.clone(),
                api_version: manifest.api_version.clone(),
                kind: manifest.kind.clone(),
                name: manifest.name.clone(),
                desired: manifest.to_yaml(),
                live,
                diff,
            });
        }
        Ok(objects)
    }

    /// The live object and the difference; neither while this process is not connected.
    async fn beside(
        &self,
        view: &NamespaceView,
        manifest: &Manifest,
    ) -> Result<(Option<String>, Option<String>)> {
        let Some(member) = self.inner.members.get(&view.cluster) else { return Ok((None, None)) };
        match member.live(&manifest.key()).await {
            Ok(live) => {
                let compared = plan::diff(manifest, live.as_ref());
                Ok((compared.live_yaml, Some(compared.unified)))
            }
            // A dead API server must not take the desired state away from the reader.
            Err(error) if error.is_transient() => Ok((None, None)),
            Err(error) => Err(AppError::internal("an object could not be read from the cluster", error)),
        }
    }
}
