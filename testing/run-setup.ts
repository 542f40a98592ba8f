import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOpenapiDocument } from '../contract/openapi-document.ts'
import { findCoverageGaps, parseResponses, RESPONSES_FILE } from './contract-coverage.ts'
import * as testStore from './global-setup.ts'

/**
 * For `npm test`, which runs every test: in addition to starting the store, it compares the
 * responses that the tests received with the contract. `npm run test:file` does not, because a part
 * of the tests cannot reach every status.
 */
export async function globalSetup(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-answers-'))
  process.env[RESPONSES_FILE] = join(folder, 'answers')
  writeFileSync(join(folder, 'answers'), '')
  await testStore.globalSetup()
}

/** An error in a teardown fails the run, but the test runner does not print the message. */
export async function globalTeardown(): Promise<void> {
  await testStore.globalTeardown()
  const file = process.env[RESPONSES_FILE] as string
  const answers = parseResponses(readFileSync(file, 'utf8'))
  rmSync(join(file, '..'), { recursive: true })
  const differences = findCoverageGaps(createOpenapiDocument().paths as never, answers)
  if (differences.length === 0) return
  process.stderr.write(`\n${differences.join('\n')}\n`)
  throw new Error('the responses in the tests differ from the contract')
}
