import type { Database, Transaction } from '../../runtime/db/database.ts'

/** An import of a file, and the outcome of its rows so far. */
export interface StoredImport {
  id: string
  fileName: string
  stored: number
  duplicates: number
  refused: number
  blank: number
  createdAt: Date
  finishedAt: Date | null
}

interface NewImport {
  trackerId: string
  id: string
  fileName: string
  fileDigest: string
  at: Date
}

export async function insertImport(
  { query }: Transaction,
  { trackerId, id, fileName, fileDigest, at }: NewImport,
): Promise<void> {
  await query
    .insertInto('imports')
    .values({
      tracker_id: trackerId,
      created_at: at,
      id,
      file_name: fileName,
      file_digest: fileDigest,
    })
    .execute()
}

interface ImportKey {
  trackerId: string
  id: string
  /** The time within the ID. */
  createdAt: Date
}

export async function findImport(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, id, createdAt }: ImportKey,
): Promise<StoredImport | null> {
  const { rows } = await pool.query({
    name: 'find-import',
    text: `select * from imports
           where tracker_id = $1::uuid and created_at = $2::timestamptz and id = $3::uuid`,
    values: [trackerId, createdAt, id],
  })
  return rows[0] ? toImport(rows[0]) : null
}

interface ImportCounts {
  stored: number
  duplicates: number
  refused: number
  blank: number
  /** Null while rows follow. */
  finishedAt: Date | null
}

/** Adds the outcome of some rows; requests of one import may end in any order. */
export async function addImportCounts(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, id, createdAt }: ImportKey,
  counts: ImportCounts,
): Promise<void> {
  await pool.query({
    name: 'add-import-counts',
    text: `update imports set
             stored = stored + $4::integer, duplicates = duplicates + $5::integer,
             refused = refused + $6::integer, blank = blank + $7::integer,
             finished_at = coalesce($8::timestamptz, finished_at)
           where tracker_id = $1::uuid and created_at = $2::timestamptz and id = $3::uuid`,
    values: [
      trackerId,
      createdAt,
      id,
      counts.stored,
      counts.duplicates,
      counts.refused,
      counts.blank,
      counts.finishedAt,
    ],
  })
}

/** The latest imports of a tracker. */
export async function listImports(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, limit }: { trackerId: string; limit: number },
): Promise<StoredImport[]> {
  const { rows } = await pool.query({
    name: 'list-imports',
    text: `select * from imports where tracker_id = $1::uuid
           order by created_at desc, id desc limit $2::integer`,
    values: [trackerId, limit],
  })
  return rows.map(toImport)
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the driver
function toImport(row: any): StoredImport {
  return {
    id: row.id,
    fileName: row.file_name,
    stored: row.stored,
    duplicates: row.duplicates,
    refused: row.refused,
    blank: row.blank,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  }
}
