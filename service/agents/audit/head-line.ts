import type { AuditHead } from './head-signature.ts'
import { jsonObject } from './json-object.ts'

/** The last line of an export: where the log ended, signed. */
export function headLine({ workspaceId, sequence, hash }: AuditHead, signature: Buffer): string {
  const line = {
    workspace_id: workspaceId,
    sequence,
    hash: hash.toString('hex'),
    signature: signature.toString('hex'),
  }
  return `${JSON.stringify(line)}\n`
}

/** What such a line says; null when it is something else. */
export function readHeadLine(line: string): { head: AuditHead; signature: Buffer } | null {
  const { workspace_id: workspaceId, sequence, hash, signature } = jsonObject(line) ?? {}
  const isHead = isCount(workspaceId) && isCount(sequence) && isDigest(hash) && isDigest(signature)
  if (!isHead) return null
  const head = { workspaceId, sequence, hash: Buffer.from(hash, 'hex') }
  return { head, signature: Buffer.from(signature, 'hex') }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

/** SHA-256 and HMAC-SHA-256 in hexadecimal. */
function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}
