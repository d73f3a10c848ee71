"""Hypatia's on-disk layout, schema version 3 (contracts/hypatia.md 9)."""

import sqlite3

VERSION = "3"
# Our postings differ from Hypatia's (bigrams, not a dictionary), so a file without this mark is not ours to write.
INDEX_KEY, INDEX_KIND = "companion_index", "bigram 2"
OLDER_KINDS = ("bigram",)
# The content clock at our last write: when it is behind `content_clock`, another program has written since.
CLOCK_KEY = "companion_clock"

_TABLES = """
CREATE TABLE meta (k TEXT PRIMARY KEY, v TEXT NOT NULL);
CREATE TABLE knowledge (
  name TEXT PRIMARY KEY,
  content TEXT NOT NULL,
  embedding BLOB,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  content_version INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE statement (
  triple TEXT PRIMARY KEY,
  head TEXT NOT NULL,
  relation TEXT NOT NULL,
  tail TEXT NOT NULL,
  content TEXT NOT NULL,
  embedding BLOB,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  tr_start TEXT,
  tr_end TEXT,
  content_version INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE docs (
  id INTEGER PRIMARY KEY,
  catalog TEXT NOT NULL,
  key TEXT NOT NULL,
  fts_key TEXT NOT NULL,
  fts_data TEXT NOT NULL,
  fts_tags TEXT NOT NULL,
  fts_synonyms TEXT NOT NULL,
  UNIQUE (catalog, key)
);
CREATE INDEX docs_catalog ON docs (catalog);
CREATE TABLE json_index (
  doc_id INTEGER,
  path TEXT,
  kind TEXT,
  value TEXT,
  array_index INTEGER,
  PRIMARY KEY (doc_id, path, array_index, value)
) WITHOUT ROWID;
CREATE INDEX json_index_value ON json_index (path, value, doc_id);
CREATE VIRTUAL TABLE docs_fts USING fts5 (
  fts_key, fts_data, fts_tags, fts_synonyms,
  content = 'docs', content_rowid = 'id', tokenize = 'porter unicode61'
);
"""

# Ours, beside Hypatia's: entries that want a vector, counted, and indices that list the rows that have one.
PENDING_KEY = "companion_pending_"  # and the catalog
_OWN = """
CREATE TABLE companion_pending (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  catalog TEXT NOT NULL,
  key TEXT NOT NULL,
  since TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  failures INTEGER NOT NULL DEFAULT 0,
  UNIQUE (catalog, key)
);
CREATE INDEX companion_refused ON companion_pending (failures) WHERE failures > 0;
CREATE TRIGGER companion_pending_after_insert AFTER INSERT ON companion_pending BEGIN
  UPDATE meta SET v = CAST(v AS INTEGER) + 1 WHERE k = 'companion_pending_' || new.catalog; END;
CREATE TRIGGER companion_pending_after_delete AFTER DELETE ON companion_pending BEGIN
  UPDATE meta SET v = CAST(v AS INTEGER) - 1 WHERE k = 'companion_pending_' || old.catalog; END;
INSERT OR REPLACE INTO meta VALUES ('companion_pending_knowledge', '0'), ('companion_pending_statement', '0');
CREATE INDEX companion_knowledge_vectors ON knowledge (content_version) WHERE embedding IS NOT NULL;
CREATE INDEX companion_statement_vectors ON statement (content_version) WHERE embedding IS NOT NULL;
"""

# For pages in the order of time, and for the statements of one end: there are few relations, each with very many.
LAST_INDEX = "companion_statement_created"
_INDICES = f"""
DROP INDEX IF EXISTS statement_head;
DROP INDEX IF EXISTS statement_relation;
CREATE INDEX statement_head ON statement (head, relation);
CREATE INDEX statement_relation ON statement (relation, tail);
CREATE INDEX IF NOT EXISTS statement_tail ON statement (tail);
CREATE INDEX IF NOT EXISTS companion_knowledge_created ON knowledge (created_at DESC);
CREATE INDEX {LAST_INDEX} ON statement (created_at DESC);
"""

_FTS_COLUMNS = "fts_key, fts_data, fts_tags, fts_synonyms"
_OLD = "old.id, old.fts_key, old.fts_data, old.fts_tags, old.fts_synonyms"
_NEW = "new.id, new.fts_key, new.fts_data, new.fts_tags, new.fts_synonyms"
_ADD = f"INSERT INTO docs_fts (rowid, {_FTS_COLUMNS}) VALUES ({_NEW});"
_REMOVE = f"INSERT INTO docs_fts (docs_fts, rowid, {_FTS_COLUMNS}) VALUES ('delete', {_OLD});"
_TICK = "UPDATE meta SET v = CAST(v AS INTEGER) + 1 WHERE k = 'content_clock';"
_CLOCK = "(SELECT CAST(v AS INTEGER) FROM meta WHERE k = 'content_clock')"


def _fts_triggers() -> str:
    return f"""
CREATE TRIGGER docs_after_insert AFTER INSERT ON docs BEGIN {_ADD} END;
CREATE TRIGGER docs_after_delete AFTER DELETE ON docs BEGIN {_REMOVE} END;
CREATE TRIGGER docs_after_update AFTER UPDATE ON docs BEGIN {_REMOVE} {_ADD} END;
"""


def _source_objects(table: str, key: str) -> str:
    stamp = f"UPDATE {table} SET content_version = {_CLOCK} WHERE rowid = new.rowid;"
    renew = f"UPDATE {table} SET content_version = {_CLOCK}, embedding = NULL WHERE rowid = new.rowid;"
    return f"""
CREATE INDEX {table}_pending ON {table} ({key}) WHERE embedding IS NULL;
CREATE INDEX {table}_pending_version ON {table} (content_version) WHERE embedding IS NULL;
CREATE TRIGGER {table}_after_insert AFTER INSERT ON {table} BEGIN {_TICK} {stamp} END;
CREATE TRIGGER {table}_after_content AFTER UPDATE OF content ON {table} BEGIN {_TICK} {renew} END;
CREATE TRIGGER {table}_after_embedding AFTER UPDATE OF embedding ON {table} BEGIN {_TICK} END;
CREATE TRIGGER {table}_after_delete AFTER DELETE ON {table} BEGIN {_TICK} END;
"""


def create(connection: sqlite3.Connection) -> None:
    """Make an empty shelf in one transaction, so that a crash leaves either nothing or a whole one."""
    script = _TABLES + _fts_triggers() + _source_objects("knowledge", "name") + _source_objects("statement", "triple")
    script += _OWN + _INDICES
    values = (("schema_version", VERSION), ("content_clock", "0"), (INDEX_KEY, INDEX_KIND), (CLOCK_KEY, "0"))
    inserts = "".join(f"INSERT INTO meta VALUES ('{key}', '{value}');" for key, value in values)
    connection.executescript(f"BEGIN IMMEDIATE; {script} {inserts} COMMIT;")


def renew(connection: sqlite3.Connection) -> None:
    """Give a shelf of an older index kind our tables, and have every entry indexed again."""
    values = ((INDEX_KEY, INDEX_KIND), (CLOCK_KEY, "-1"))
    inserts = "".join(f"INSERT OR REPLACE INTO meta VALUES ('{key}', '{value}');" for key, value in values)
    connection.executescript(f"BEGIN IMMEDIATE; {_OWN} {inserts} COMMIT;")


def add_indices(connection: sqlite3.Connection) -> None:
    """Give a shelf that was made before them the indices it lacks."""
    connection.executescript(f"BEGIN IMMEDIATE; {_INDICES} COMMIT;")
