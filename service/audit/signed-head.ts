import { createHmac, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import { deriveKey } from '../runtime/util/derive-key.ts'
import { parseJsonObject } from '../runtime/util/is-object.ts'
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

function computeSignature(key: Buffer, { workspaceId, sequence, hash }: AuditHead): Buffer {
  const text = canonicalJson({ workspace_id: workspaceId, sequence, hash: hash.toString('hex') })
  return createHmac('sha256', key).update(text).digest()
}

/** The last line of an export: the signed head. */
export function formatHeadLine(
  { workspaceId, sequence, hash }: AuditHead,
  signature: Buffer,
): string {
  const line = {
    workspace_id: workspaceId,
    sequence,
    hash: hash.toString('hex'),
    signature: signature.toString('hex'),
  }
  return `${JSON.stringify(line)}\n`
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
