import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'

const SCHEMA = new URL(import.meta.resolve('@signalbox/contract/webhook-message.schema.json'))

const isMessage = new Ajv2020({ allowUnionTypes: true, formats: { 'date-time': true } }).compile(
  JSON.parse(readFileSync(SCHEMA, 'utf8')),
)

/** What in a message is not as the published schema says. For tests of what is sent. */
export function findMessageProblems(body: unknown): string[] {
  if (isMessage(body)) return []
  return (isMessage.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
