//! Label and annotation keys that gpuaas writes, and the names it gives to things of its own.

/// Marks a namespace as a tenant's; its value is the slug of the team. The admission policies select namespaces that
/// have this label, whatever its value.
pub const TENANT: &str = "gpuaas.io/tenant";

/// Says who keeps an object true. Its value on everything that is written is [`MANAGER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Value of [`MANAGED_BY`], and the prefix of the field managers of server-side apply.
pub const MANAGER: &str = "gpuaas";

/// Annotation: sha256 of the canonical JSON of the object as it was planned, see
/// [`crate::manifest::Manifest::fingerprint`].
pub const FINGERPRINT: &str = "gpuaas.io/fingerprint";

/// Node label that tells which pool a node belongs to, where a site does not choose another one.
pub const POOL: &str = "gpuaas.io/pool";

/// Marks a pod of the quota probe: in a dry run the limit per pod does not hold for it, so that only the quota can
/// refuse. Without dry run the label has no effect.
pub const PROBE: &str = "gpuaas.io/probe";

/// Namespace of the identities of gpuaas and, where the chart runs it, of the portal.
pub const SYSTEM_NAMESPACE: &str = "gpuaas-system";

/// Name of the one `TenantPolicy` of a namespace.
pub const TENANT_POLICY_NAME: &str = "tenant";
