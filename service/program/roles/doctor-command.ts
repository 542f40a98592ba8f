import { Command, CommanderError } from 'commander'
import { SettingsError } from '../../runtime/settings/read-settings.ts'
import { type Finding, error as foundError, type Severity } from '../doctor/finding.ts'
import { runDoctor } from '../doctor/run-doctor.ts'
import { createConnectionError } from './open-store.ts'
import type { RoleContext } from './role.ts'

export interface DoctorRequest {
  /** Print one JSON object instead of lines. */
  json: boolean
  /** Warnings count as errors. */
  strict: boolean
}

/** Exit codes: 0 no error, 1 the command itself failed, 2 an error was found. */
const EXIT_CODE_ERRORS = 2

/**
 * Prints what is misconfigured and what to do about it. A setting that cannot be read is a finding
 * too, so that this command never ends like the others would.
 */
export async function runDoctorCommand(
  createContext: () => Promise<RoleContext>,
  printOutput: (text: string) => void,
  { json, strict }: DoctorRequest,
): Promise<void> {
  const findings = await examine(createContext)
  const counts = countSeverities(findings)
  const isHealthy = counts.error === 0 && !(strict && counts.warning > 0)
  printOutput(
    json
      ? `${JSON.stringify({ healthy: isHealthy, counts, findings }, null, 2)}\n`
      : formatFindings(findings, counts),
  )
  if (isHealthy) return
  throw new CommanderError(EXIT_CODE_ERRORS, 'signalbox.doctor', 'The doctor found errors.')
}

async function examine(createContext: () => Promise<RoleContext>): Promise<Finding[]> {
  try {
    const { settings, now } = await createContext()
    const explain = (url: string, cause: unknown) => createConnectionError(url, cause).message
    return await runDoctor({ settings, now }, explain)
  } catch (failure) {
    if (!(failure instanceof SettingsError)) throw failure
    const fix = 'Correct it; docs/operations/settings.md lists every setting with its range.'
    return [foundError('settings.values', failure.message, fix)]
  }
}

type SeverityCounts = Record<Severity, number>

function countSeverities(findings: readonly Finding[]): SeverityCounts {
  const counts: SeverityCounts = { ok: 0, warning: 0, error: 0, skipped: 0 }
  for (const { severity } of findings) counts[severity] += 1
  return counts
}

const SEVERITY_WIDTH = 'warning'.length
const INDENT = ' '.repeat(SEVERITY_WIDTH + 2)

/** What needs work comes last, because a terminal shows the end. */
function formatFindings(findings: readonly Finding[], counts: SeverityCounts): string {
  const order: readonly Severity[] = ['ok', 'skipped', 'warning', 'error']
  const lines = order.flatMap(severity =>
    findings.filter(finding => finding.severity === severity).map(formatFinding),
  )
  const summary = `${counts.error} errors, ${counts.warning} warnings, ${counts.ok} ok`
  const rest = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
  return `${lines.join('')}\n${summary}${rest}\n`
}

function formatFinding({ check, severity, message, fix }: Finding): string {
  const line = `${severity.padEnd(SEVERITY_WIDTH)}  ${message} [${check}]\n`
  return fix === null ? line : `${line}${INDENT}-> ${fix}\n`
}

export function defineDoctorCommand(handle: (request: DoctorRequest) => Promise<void>): Command {
  return new Command()
    .option('--json', 'print one JSON object', false)
    .option('--strict', 'count warnings as errors', false)
    .action(({ json, strict }) => handle({ json, strict }))
}
