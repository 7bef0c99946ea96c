-- Ids and names are text, times BIGINT microseconds UTC, truth values BIGINT 0/1, JSON text.
-- The same version numbers, tables, columns and constraints as in migrations/sqlite; collation "C" makes
-- keys compare byte by byte, as they do there, so that cursors mean the same.

CREATE TABLE users (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    login_key     TEXT COLLATE "C" NOT NULL UNIQUE,            -- the login in lower case
    login         TEXT NOT NULL,
    display       TEXT NOT NULL,
    platform      TEXT NOT NULL,                   -- JSON list of roles
    disabled      BIGINT NOT NULL CHECK (disabled IN (0, 1)),
    password_hash TEXT NOT NULL,
    created_at    BIGINT NOT NULL
);

CREATE TABLE setup_links (
    hash       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);

CREATE TABLE sessions (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id    TEXT COLLATE "C" REFERENCES users (id),
    data       TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE teams (
    name    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    search  TEXT NOT NULL,                         -- name and display name in lower case
    retired BIGINT NOT NULL CHECK (retired IN (0, 1)),
    version BIGINT NOT NULL,
    body    TEXT NOT NULL
);

CREATE TABLE members (
    team    TEXT COLLATE "C" NOT NULL REFERENCES teams (name),
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    role    TEXT NOT NULL,
    PRIMARY KEY (team, user_id)
);
CREATE INDEX members_user ON members (user_id, team);

CREATE TABLE clusters (
    name           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    registration   TEXT NOT NULL,                  -- JSON; this and the next three are written by jobs, not by people
    resources      TEXT NOT NULL,                  -- JSON list of resource names
    device_classes TEXT NOT NULL,                  -- JSON list
    observed_at    BIGINT,
    version        BIGINT NOT NULL,
    body           TEXT NOT NULL
);

CREATE TABLE cluster_secrets (
    cluster TEXT COLLATE "C" NOT NULL REFERENCES clusters (name),
    which   TEXT COLLATE "C" NOT NULL,
    sealed  BYTEA NOT NULL,                        -- encrypted by the caller
    PRIMARY KEY (cluster, which)
);

CREATE TABLE nodes (
    cluster TEXT COLLATE "C" NOT NULL REFERENCES clusters (name),
    name    TEXT COLLATE "C" NOT NULL,
    search  TEXT NOT NULL,                         -- name, product and resources in lower case
    body    TEXT NOT NULL,
    PRIMARY KEY (cluster, name)
);

CREATE TABLE pools (
    name    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    cluster TEXT COLLATE "C" NOT NULL REFERENCES clusters (name),
    retired BIGINT NOT NULL CHECK (retired IN (0, 1)),
    version BIGINT NOT NULL,
    body    TEXT NOT NULL,
    label_key   TEXT COLLATE "C" NOT NULL,
    label_value TEXT COLLATE "C" NOT NULL,
    UNIQUE (cluster, label_key, label_value)   -- two pools of the same nodes would promise them twice
);
CREATE INDEX pools_cluster ON pools (cluster);

CREATE TABLE offerings (
    name               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    pool               TEXT COLLATE "C" NOT NULL REFERENCES pools (name),
    resource           TEXT COLLATE "C" NOT NULL,
    declared           BIGINT NOT NULL CHECK (declared >= 0),
    overcommit_percent BIGINT NOT NULL CHECK (overcommit_percent >= 0),
    retired            BIGINT NOT NULL CHECK (retired IN (0, 1)),
    version            BIGINT NOT NULL,
    body               TEXT NOT NULL,
    UNIQUE (pool, resource)
);

-- What the cluster shows of an offering; replaced as a whole.
CREATE TABLE observations (
    offering  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES offerings (name),
    observed  BIGINT CHECK (observed >= 0),
    unmanaged BIGINT NOT NULL CHECK (unmanaged >= 0),
    blocks    TEXT NOT NULL,                       -- JSON
    at        BIGINT NOT NULL
);

-- What the ledger promises to a team, and the most that the cluster may still let it have.
CREATE TABLE balances (
    offering TEXT COLLATE "C" NOT NULL REFERENCES offerings (name),
    team     TEXT COLLATE "C" NOT NULL REFERENCES teams (name),
    granted  BIGINT NOT NULL CHECK (granted >= 0),
    held     BIGINT NOT NULL CHECK (held >= 0),
    PRIMARY KEY (offering, team)
);
CREATE INDEX balances_team ON balances (team, offering);

-- Every movement of a balance; the balances are their sum.
CREATE TABLE ledger_events (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    offering TEXT COLLATE "C" NOT NULL REFERENCES offerings (name),
    team     TEXT COLLATE "C" NOT NULL REFERENCES teams (name),
    grant_id TEXT COLLATE "C",
    granted  BIGINT NOT NULL,
    held     BIGINT NOT NULL,
    reason   TEXT NOT NULL,
    at       BIGINT NOT NULL
);
CREATE INDEX ledger_events_offering ON ledger_events (offering, id);

CREATE TABLE requests (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    team     TEXT COLLATE "C" NOT NULL REFERENCES teams (name),
    offering TEXT COLLATE "C" NOT NULL REFERENCES offerings (name),
    state    TEXT COLLATE "C" NOT NULL,
    version  BIGINT NOT NULL,
    body     TEXT NOT NULL
);
CREATE INDEX requests_team ON requests (team, id);
CREATE INDEX requests_team_state ON requests (team, state, id);
CREATE INDEX requests_state ON requests (state, id);
CREATE INDEX requests_offering ON requests (offering, id);

CREATE TABLE comments (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    request_id TEXT COLLATE "C" NOT NULL REFERENCES requests (id),
    body       TEXT NOT NULL
);
CREATE INDEX comments_request ON comments (request_id, id);

-- Kubernetes quota does not know nodes: within a namespace a resource belongs to exactly one pool, and a team
-- has a pool's resource in exactly one namespace.
CREATE TABLE placements (
    cluster   TEXT COLLATE "C" NOT NULL REFERENCES clusters (name),
    namespace TEXT COLLATE "C" NOT NULL,
    resource  TEXT COLLATE "C" NOT NULL,
    pool      TEXT COLLATE "C" NOT NULL REFERENCES pools (name),
    team      TEXT COLLATE "C" NOT NULL REFERENCES teams (name),
    PRIMARY KEY (cluster, namespace, resource),
    UNIQUE (team, pool, resource),
    UNIQUE (cluster, namespace, resource, pool, team)
);

CREATE TABLE grants (
    id        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    team      TEXT COLLATE "C" NOT NULL REFERENCES teams (name),
    offering  TEXT COLLATE "C" NOT NULL REFERENCES offerings (name),
    cluster   TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    resource  TEXT COLLATE "C" NOT NULL,
    pool      TEXT COLLATE "C" NOT NULL,
    request   TEXT COLLATE "C" NOT NULL REFERENCES requests (id),
    amount    BIGINT NOT NULL CHECK (amount > 0),
    counts    BIGINT NOT NULL CHECK (counts IN (0, 1)),
    ended     BIGINT NOT NULL CHECK (ended IN (0, 1)),
    ends_at   BIGINT NOT NULL,
    version   BIGINT NOT NULL,
    body      TEXT NOT NULL,
    FOREIGN KEY (cluster, namespace, resource, pool, team)
        REFERENCES placements (cluster, namespace, resource, pool, team)
);
CREATE INDEX grants_team ON grants (team, id);
CREATE INDEX grants_offering ON grants (offering, ended, ends_at);
CREATE INDEX grants_namespace ON grants (cluster, namespace, ended);
CREATE INDEX grants_due ON grants (counts, ends_at);

CREATE TABLE partitions (
    cluster TEXT COLLATE "C" NOT NULL REFERENCES clusters (name),
    team    TEXT COLLATE "C" NOT NULL REFERENCES teams (name),
    slot    BIGINT NOT NULL CHECK (slot > 0),
    pkey    BIGINT NOT NULL CHECK (pkey BETWEEN 1 AND 32766),
    PRIMARY KEY (cluster, team),
    UNIQUE (cluster, slot),
    UNIQUE (cluster, pkey)
);
CREATE INDEX partitions_team ON partitions (team);

CREATE TABLE namespaces (
    cluster      TEXT COLLATE "C" NOT NULL REFERENCES clusters (name),
    name         TEXT COLLATE "C" NOT NULL,
    team         TEXT COLLATE "C" NOT NULL REFERENCES teams (name),
    settled      BIGINT NOT NULL CHECK (settled IN (0, 1)),  -- enforced or published
    enforcement  TEXT NOT NULL,                    -- JSON
    confirmed_at BIGINT,
    probes       TEXT NOT NULL,                    -- JSON list
    PRIMARY KEY (cluster, name)
);
CREATE INDEX namespaces_team ON namespaces (team, cluster, name);
CREATE INDEX namespaces_settled ON namespaces (settled, cluster, name);

-- What quota and pods of a namespace say; replaced for a whole cluster.
CREATE TABLE namespace_usage (
    cluster   TEXT COLLATE "C" NOT NULL REFERENCES clusters (name),
    namespace TEXT COLLATE "C" NOT NULL,
    resource  TEXT COLLATE "C" NOT NULL,
    hard      BIGINT CHECK (hard >= 0),
    charged   BIGINT NOT NULL CHECK (charged >= 0),
    running   BIGINT NOT NULL CHECK (running >= 0),
    pending   BIGINT NOT NULL CHECK (pending >= 0),
    at        BIGINT NOT NULL,
    -- When a pass over the namespace noted `charged`; an observer that is behind must not lower it.
    noted_at BIGINT,
    PRIMARY KEY (cluster, namespace, resource)
);

-- Work that follows from a decision: written in its transaction, done after it.
CREATE TABLE outbox (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind          TEXT COLLATE "C" NOT NULL,
    job_key       TEXT COLLATE "C" NOT NULL,
    due_at        BIGINT NOT NULL,
    attempts      BIGINT NOT NULL CHECK (attempts >= 0),
    last_error    TEXT,
    claimed_until BIGINT,
    claimed_by    TEXT,                            -- who may end it
    again_at      BIGINT,                          -- asked for once more while it was claimed
    UNIQUE (kind, job_key)
);
CREATE INDEX outbox_due ON outbox (due_at, id);

CREATE TABLE idempotency (
    actor       TEXT COLLATE "C" NOT NULL,
    idem_key    TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT NOT NULL,
    status      BIGINT,
    body        TEXT,
    at          BIGINT NOT NULL,
    PRIMARY KEY (actor, idem_key)
);
CREATE INDEX idempotency_at ON idempotency (at);

CREATE TABLE audit (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at            BIGINT NOT NULL,
    actor         TEXT COLLATE "C",
    actor_display TEXT NOT NULL,
    action        TEXT COLLATE "C" NOT NULL,
    subject       TEXT NOT NULL,
    team          TEXT COLLATE "C",
    detail        TEXT NOT NULL
);
CREATE INDEX audit_team ON audit (team, id);
CREATE INDEX audit_action ON audit (action, id);
CREATE INDEX audit_actor ON audit (actor, id);
