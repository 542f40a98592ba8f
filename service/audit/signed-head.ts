import { createHmac, sign, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { SigningKey } from '@signalbox/contract/signing-key.ts'
import { prepareDataFolder } from '@signalbox/embedded-postgres/data-folder.ts'
import { writePrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import { parseJsonObject } from '../runtime/util/is-object.ts'
import { deriveKey } from '../runtime/util/sealed-credential.ts'
import type { ChainLink } from './audit-entry.ts'

/** The keys that sign chain heads: the current key and its predecessors. */
export interface AuditKeys {
  current: Buffer
  previous: readonly Buffer[]
}

const KEY_PURPOSE = 'signalbox audit heads v1'

/** Derives the signing keys from the installation keys, which are never in the database. */
export function deriveAuditKeys(master: {
  current: Buffer
  previous: readonly Buffer[]
}): AuditKeys {
  const derived = (key: Buffer) => deriveKey(key, KEY_PURPOSE)
  return { current: derived(master.current), previous: master.previous.map(derived) }
}

export interface AuditHead extends ChainLink {
  workspaceId: number
}

/** HMAC-SHA-256 of the workspace, sequence and hash of the last entry of a chain. */
export function signHead(keys: AuditKeys, head: AuditHead): Buffer {
  return computeSignature(keys.current, head)
}

export function isSignedHead(keys: AuditKeys, head: AuditHead, signature: Buffer): boolean {
  return [keys.current, ...keys.previous].some(key => {
    const expected = computeSignature(key, head)
    return expected.length === signature.length && timingSafeEqual(expected, signature)
  })
}

function computeSignature(key: Buffer, head: AuditHead): Buffer {
  return createHmac('sha256', key)
    .update(canonicalJson(toPlace(head)))
    .digest()
}

/**
 * The last line of an export: the head with the signature that this installation can verify, and a
 * compact JWS (RFC 7515) that anyone can, with the key set that is published; null without a key.
 */
export function formatHeadLine(head: AuditHead, signature: Buffer, key: SigningKey | null): string {
  const line = {
    ...toPlace(head),
    signature: signature.toString('hex'),
    canonical_form: 'RFC 8785',
    hash_algorithm: 'SHA-256',
  }
  return `${JSON.stringify({ ...line, jws: key && signPublicly(line, key) })}\n`
}

function toPlace({ workspaceId, sequence, hash }: AuditHead) {
  return { workspace_id: workspaceId, sequence, hash: hash.toString('hex') }
}

/** `typ` keeps it apart from everything else that this key signs. */
function signPublicly(line: object, { privateKey, publicKey }: SigningKey): string {
  const header = { alg: 'EdDSA', kid: publicKey.kid, typ: 'signalbox-audit-head' }
  const content = [header, line].map(part => Buffer.from(canonicalJson(part)).toString('base64url'))
  const signature = sign(null, Buffer.from(content.join('.')), privateKey)
  return [...content, signature.toString('base64url')].join('.')
}

/** Null if the line is not a signed head. */
export function parseHeadLine(line: string): { head: AuditHead; signature: Buffer } | null {
  const { workspace_id: workspaceId, sequence, hash, signature } = parseJsonObject(line) ?? {}
  const isHead = isCount(workspaceId) && isCount(sequence) && isDigest(hash) && isDigest(signature)
  if (!isHead) return null
  const head = { workspaceId, sequence, hash: Buffer.from(hash, 'hex') }
  return { head, signature: Buffer.from(signature, 'hex') }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

/** A SHA-256 or HMAC-SHA-256 digest in hexadecimal. */
function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}

const FILE = 'audit-heads.json'

/** By workspace ID: the last entry of its log at the last successful verification. */
export type HeadCheckpoints = ReadonlyMap<number, ChainLink>

/** The checkpoint file is unreadable. The message is one sentence that names the file. */
export class HeadCheckpointsError extends Error {
  override name = 'HeadCheckpointsError'
}

/**
 * Reads the checkpoints of this data folder. They are stored outside the database, so that they
 * reveal a database owner who restores an older, validly signed head. Returns no checkpoints if the
 * file does not exist; throws a HeadCheckpointsError if it is invalid.
 */
export function readHeadCheckpoints(dataDirectory: string): HeadCheckpoints {
  const path = join(dataDirectory, FILE)
  try {
    const members = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as object)
    return new Map(members.map(([id, head]) => [Number(id), parseCheckpoint(head)]))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return new Map()
    throw new HeadCheckpointsError(
      `${path} does not hold the heads of the audit logs: restore it from a backup, or move it ` +
        'away to start over.',
      { cause },
    )
  }
}

/**
 * Merges newly verified heads into the file. A concurrent write is never overwritten by an older
 * head: the later head of each workspace wins. Throws file system errors.
 */
export function saveHeadCheckpoints(dataDirectory: string, verified: HeadCheckpoints): void {
  if (verified.size === 0) return
  const folder = prepareDataFolder(dataDirectory)
  const heads = new Map(readHeadCheckpoints(folder))
  for (const [workspaceId, head] of verified) {
    if (head.sequence >= (heads.get(workspaceId)?.sequence ?? 0)) heads.set(workspaceId, head)
  }
  const members = [...heads]
    .toSorted(([a], [b]) => a - b)
    .map(([id, { sequence, hash }]) => [id, { sequence, hash: hash.toString('hex') }])
  writePrivateFile(folder, FILE, `${JSON.stringify(Object.fromEntries(members), null, 2)}\n`)
}

function parseCheckpoint(value: { sequence?: unknown; hash?: unknown }): ChainLink {
  const { sequence, hash } = value
  if (!Number.isSafeInteger(sequence) || !/^[0-9a-f]{64}$/.test(String(hash))) {
    throw new TypeError('not an audit head')
  }
  return { sequence: Number(sequence), hash: Buffer.from(String(hash), 'hex') }
}
