"""The ledger's tables, as numbered steps that each run in one transaction."""

import sqlite3
from collections.abc import Iterator

MIGRATIONS: tuple[str, ...] = (
    """
    -- One row per log file ever seen. `session_id` is null while the header is unknown. `cursor` is JSON.
    CREATE TABLE log_file (
        path TEXT PRIMARY KEY, session_id TEXT, version INTEGER,
        size INTEGER NOT NULL DEFAULT 0, mtime_ns INTEGER NOT NULL DEFAULT 0,
        cursor TEXT, cut INTEGER, next_seq INTEGER NOT NULL DEFAULT 0,
        status TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',
        title TEXT NOT NULL DEFAULT '', cwd TEXT, project TEXT NOT NULL DEFAULT '', subagent INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL DEFAULT 0, last_time INTEGER NOT NULL DEFAULT 0,
        turn_open INTEGER NOT NULL DEFAULT 0, node_seq INTEGER, node_time INTEGER
    ) STRICT;
    CREATE INDEX log_file_session ON log_file (session_id, version);

    -- One row per loggable message, known by its id wherever it appears again. Holds no text.
    CREATE TABLE message (
        id TEXT PRIMARY KEY, session_id TEXT NOT NULL, version INTEGER NOT NULL, seq INTEGER NOT NULL,
        ordinal INTEGER NOT NULL, role TEXT NOT NULL, time INTEGER NOT NULL, tokens INTEGER NOT NULL,
        withdrawn INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX message_place ON message (session_id, version, seq);

    -- One row per finished turn: `seq` is the event after its end; the file is read again from `start_offset`.
    CREATE TABLE mark (
        session_id TEXT NOT NULL, version INTEGER NOT NULL, seq INTEGER NOT NULL,
        turn INTEGER NOT NULL, reason TEXT NOT NULL DEFAULT '',
        start_offset INTEGER NOT NULL, start_seq INTEGER NOT NULL,
        PRIMARY KEY (session_id, version, seq)
    ) STRICT, WITHOUT ROWID;

    -- Per shelf: which conversations may be recorded; `cutoff` is epoch milliseconds, 0 for all.
    CREATE TABLE shelf_choice (shelf TEXT PRIMARY KEY, cutoff INTEGER NOT NULL, answered_at INTEGER NOT NULL) STRICT;

    CREATE TABLE watermark (
        shelf TEXT NOT NULL, session_id TEXT NOT NULL, version INTEGER NOT NULL,
        logged_seq INTEGER NOT NULL DEFAULT 0, consolidated_seq INTEGER NOT NULL DEFAULT 0,
        last_check_turn INTEGER NOT NULL DEFAULT 0, pending_tokens INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (shelf, session_id, version)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE session_node (
        shelf TEXT NOT NULL, session_id TEXT NOT NULL,
        present INTEGER NOT NULL DEFAULT 0, linked INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (shelf, session_id)
    ) STRICT, WITHOUT ROWID;

    -- The durable queue: one record per kind, conversation and log file (engine.md 4.2). Done means the row is gone.
    CREATE TABLE task (
        shelf TEXT NOT NULL, kind TEXT NOT NULL, session_id TEXT NOT NULL, version INTEGER NOT NULL,
        from_seq INTEGER NOT NULL CHECK (from_seq >= 0), to_seq INTEGER NOT NULL CHECK (to_seq >= from_seq),
        project TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'deferred', 'failed')),
        attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0), error TEXT, action TEXT NOT NULL DEFAULT '',
        route TEXT NOT NULL DEFAULT '', enqueued_at INTEGER NOT NULL, changed_at INTEGER NOT NULL,
        PRIMARY KEY (shelf, kind, session_id, version)
    ) STRICT, WITHOUT ROWID;

    -- A validated, redacted model reply, kept until its task is done so that a replay pays nothing (engine.md 7.5).
    CREATE TABLE reply (
        shelf TEXT NOT NULL, session_id TEXT NOT NULL, version INTEGER NOT NULL,
        from_seq INTEGER NOT NULL, covered_to INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (shelf, session_id, version)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE model_call (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, purpose TEXT NOT NULL, provider TEXT NOT NULL,
        model TEXT NOT NULL, effort TEXT NOT NULL DEFAULT '',
        outcome TEXT NOT NULL CHECK (outcome IN ('pending', 'ok', 'incomplete', 'error')),
        ms INTEGER NOT NULL DEFAULT 0,
        input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0,
        reasoning_tokens INTEGER NOT NULL DEFAULT 0, detail TEXT NOT NULL DEFAULT ''
    ) STRICT;

    -- Small facts that outlive a run, such as an ongoing pause.
    CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

    CREATE TABLE setting_change (at INTEGER NOT NULL, key TEXT NOT NULL, old TEXT, new TEXT) STRICT;

    -- What people did and what was counted: retries, discards, shelf switches; `day` totals feed the tooltip.
    CREATE TABLE activity (
        at INTEGER NOT NULL, what TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE TABLE logged_day (
        shelf TEXT NOT NULL, day TEXT NOT NULL, messages INTEGER NOT NULL, PRIMARY KEY (shelf, day)
    ) STRICT;
    """,
    """
    -- Null money: the price is not known. `currency` is free where a route costs nothing, empty where it has no price.
    ALTER TABLE model_call ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE model_call ADD COLUMN money REAL;
    ALTER TABLE model_call ADD COLUMN currency TEXT NOT NULL DEFAULT '';
    CREATE INDEX model_call_at ON model_call (at);
    """,
    """
    -- Runs of a task that failed, kept while the task is (`INSERT OR REPLACE` fires no trigger). `first_route` is where
    -- the person wants the next runs to start in the list of models.
    CREATE TABLE task_attempt (
        shelf TEXT NOT NULL, kind TEXT NOT NULL, session_id TEXT NOT NULL, version INTEGER NOT NULL,
        at INTEGER NOT NULL, route TEXT NOT NULL DEFAULT '', error TEXT NOT NULL,
        input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX task_attempt_of ON task_attempt (shelf, kind, session_id, version);
    CREATE TRIGGER task_gone AFTER DELETE ON task BEGIN
        DELETE FROM task_attempt WHERE shelf = old.shelf AND kind = old.kind
            AND session_id = old.session_id AND version = old.version;
    END;
    ALTER TABLE task ADD COLUMN first_route INTEGER NOT NULL DEFAULT 0;
    -- What is asked again and again must not take longer in a long life.
    CREATE INDEX task_waiting ON task (shelf, status, kind, enqueued_at);
    CREATE INDEX task_session ON task (shelf, session_id);
    CREATE INDEX task_stuck ON task (shelf, enqueued_at) WHERE error IS NOT NULL AND action != '' AND attempts = 0;
    CREATE INDEX watermark_behind ON watermark (shelf, session_id, version) WHERE consolidated_seq < logged_seq;
    CREATE INDEX log_file_recent ON log_file (last_time, session_id) WHERE subagent = 0 AND session_id IS NOT NULL;
    CREATE INDEX log_file_person ON log_file (subagent, session_id);
    CREATE INDEX log_file_trouble ON log_file (path) WHERE status != 'ok';
    """,
    """
    -- Work units that the answer proposed without evidence; why, and nothing of their text, stands in `detail`.
    ALTER TABLE model_call ADD COLUMN rejected INTEGER NOT NULL DEFAULT 0;
    """,
    """
    -- Conversations a person wants forgotten, on every shelf that had something of them; `done`: it is gone there.
    -- Whatever asks for it, nothing of them is queued, noted as recorded or kept here as long as a row stands.
    CREATE TABLE forgotten (
        session_id TEXT NOT NULL, shelf TEXT NOT NULL, at INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (session_id, shelf)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER forgotten_task BEFORE INSERT ON task
        WHEN EXISTS (SELECT 1 FROM forgotten WHERE session_id = new.session_id) BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER forgotten_progress BEFORE INSERT ON watermark
        WHEN EXISTS (SELECT 1 FROM forgotten WHERE session_id = new.session_id) BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER forgotten_node BEFORE INSERT ON session_node
        WHEN EXISTS (SELECT 1 FROM forgotten WHERE session_id = new.session_id) BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER forgotten_reply BEFORE INSERT ON reply
        WHEN EXISTS (SELECT 1 FROM forgotten WHERE session_id = new.session_id) BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER forgotten_title AFTER INSERT ON log_file
        WHEN new.title != '' AND EXISTS (SELECT 1 FROM forgotten WHERE session_id = new.session_id) BEGIN
        UPDATE log_file SET title = '' WHERE path = new.path;
    END;
    """,
    """
    ALTER TABLE log_file ADD COLUMN agent TEXT NOT NULL DEFAULT 'dsh';
    -- `twin` tells a copy of a message that got another id: a digest of who said what when, empty where ids suffice.
    ALTER TABLE message ADD COLUMN twin TEXT NOT NULL DEFAULT '';
    CREATE INDEX message_twin ON message (twin) WHERE twin != '';
    -- Messages the person took back that are gone from a shelf.
    CREATE TABLE taken_back (shelf TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (shelf, id)) STRICT, WITHOUT ROWID;
    CREATE INDEX message_withdrawn ON message (session_id) WHERE withdrawn;
    -- Per agent: nothing said before `since` (epoch ms) is looked at; `off` while it is switched off.
    CREATE TABLE agent (
        agent TEXT PRIMARY KEY, since INTEGER NOT NULL, off INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    INSERT INTO agent VALUES ('dsh', 0, 0);
    -- What was read of each agent, and records of kinds nobody here knows; no content.
    CREATE TABLE agent_day (
        agent TEXT NOT NULL, day TEXT NOT NULL, records INTEGER NOT NULL, messages INTEGER NOT NULL,
        unknown INTEGER NOT NULL, PRIMARY KEY (agent, day)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE unknown_record (
        agent TEXT NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL, first_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL, PRIMARY KEY (agent, kind)
    ) STRICT, WITHOUT ROWID;
    """,
    """
    -- What summaries cover beyond the watermark: a start date that is moved back lets a conversation begin anew before
    -- them, and what DSH's own plugin summarised stays so.
    CREATE TABLE covered (
        shelf TEXT NOT NULL, session_id TEXT NOT NULL, version INTEGER NOT NULL,
        from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL CHECK (to_seq > from_seq),
        PRIMARY KEY (shelf, session_id, version, from_seq)
    ) STRICT, WITHOUT ROWID;
    """,
    """
    -- Conversations of a person that were read, numbered: how many there are is the highest number, however many.
    CREATE TABLE conversation (number INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE) STRICT;
    CREATE TRIGGER conversation_read AFTER INSERT ON log_file WHEN new.subagent = 0 AND new.session_id IS NOT NULL
    BEGIN
        INSERT OR IGNORE INTO conversation (session_id) VALUES (new.session_id);
    END;
    INSERT INTO conversation (session_id)
        SELECT DISTINCT session_id FROM log_file WHERE subagent = 0 AND session_id IS NOT NULL;
    """,
    """
    -- What agents asked to be remembered. `root` is the canonical root of the project, empty for all projects.
    -- `why` is why it waits for a person. With the shelf the only place that holds its text.
    CREATE TABLE remembered (
        shelf TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, root TEXT NOT NULL, label TEXT NOT NULL,
        reach TEXT NOT NULL CHECK (reach IN ('project', 'user')), kind TEXT NOT NULL,
        title TEXT NOT NULL, text TEXT NOT NULL, hay TEXT NOT NULL,
        trust TEXT NOT NULL CHECK (trust IN ('stated', 'confirmed')), agent TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'stored', 'proposed', 'dismissed', 'collision')),
        why TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, changed_at INTEGER NOT NULL,
        PRIMARY KEY (shelf, id)
    ) STRICT;
    CREATE UNIQUE INDEX remembered_name ON remembered (shelf, name);
    CREATE INDEX remembered_place ON remembered (shelf, state, root, created_at DESC);
    """,
    """
    -- A trigger inherits the conflict rule of what fires it: `INSERT OR REPLACE` numbered known ones anew.
    DROP TRIGGER conversation_read;
    DELETE FROM conversation;
    INSERT INTO conversation (session_id)
        SELECT DISTINCT session_id FROM log_file WHERE subagent = 0 AND session_id IS NOT NULL;
    CREATE TRIGGER conversation_read AFTER INSERT ON log_file
        WHEN new.subagent = 0 AND new.session_id IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM conversation WHERE session_id = new.session_id)
    BEGIN
        INSERT INTO conversation (session_id) VALUES (new.session_id);
    END;
    CREATE TRIGGER forgotten_covered BEFORE INSERT ON covered
        WHEN EXISTS (SELECT 1 FROM forgotten WHERE session_id = new.session_id) BEGIN SELECT RAISE(IGNORE); END;
    """,
)


def statements(script: str) -> Iterator[str]:
    """The single statements of a script (`executescript` would end the surrounding transaction)."""
    text = ""
    for piece in script.split(";")[:-1]:
        text += piece + ";"
        if sqlite3.complete_statement(text):
            yield text
            text = ""
