import { createHmac, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import { derivedKey } from '../../http/derived-key.ts'
import type { ChainEntry } from './audit-entry.ts'

/** The keys that heads of chains are signed with: the current one, and those of before. */
export interface AuditKeys {
  current: Buffer
  previous: readonly Buffer[]
}

const DERIVED_FOR = 'signalbox audit heads v1'

/** From the keys of the installation, which are never in the store. */
export function auditKeys(master: { current: Buffer; previous: readonly Buffer[] }): AuditKeys {
  const derived = (key: Buffer) => derivedKey(key, DERIVED_FOR)
  return { current: derived(master.current), previous: master.previous.map(derived) }
}

export interface AuditHead extends ChainEntry {
  workspaceId: number
}

/** HMAC-SHA-256 over the place and the digest of the last entry of a workspace's chain. */
export function signHead(keys: AuditKeys, head: AuditHead): Buffer {
  return signatureOf(keys.current, head)
}

/** Whether one of our keys signed this head. */
export function isSignedHead(keys: AuditKeys, head: AuditHead, signature: Buffer): boolean {
  return [keys.current, ...keys.previous].some(key => {
    const expected = signatureOf(key, head)
    return expected.length === signature.length && timingSafeEqual(expected, signature)
  })
}

function signatureOf(key: Buffer, { workspaceId, sequence, hash }: AuditHead): Buffer {
  const text = canonicalJson({ workspace_id: workspaceId, sequence, hash: hash.toString('hex') })
  return createHmac('sha256', key).update(text).digest()
}
