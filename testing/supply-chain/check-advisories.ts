import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { objectOrEmpty, parseJsonObject } from '../../service/runtime/util/is-object.ts'

const root = join(import.meta.dirname, '..', '..')
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/**
 * `npm run advisories`: prints what `npm audit` finds. The exit code is 1 from severity `moderate`
 * on, and 2 when the registry answered no audit, so that a mirror that cannot answer does not look
 * like a clean result.
 */
process.exitCode = checkAdvisories(process.argv.slice(2))

function checkAdvisories(options: readonly string[]): number {
  const audit = (...format: string[]) =>
    spawnSync('npm', ['audit', '--audit-level=moderate', ...format, ...options], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES_MAX,
    })
  const { stdout, stderr } = audit('--json')
  const report = parseJsonObject(stdout)
  if (report !== null && 'vulnerabilities' in report) {
    const { stdout: text, status } = audit()
    process.stdout.write(text)
    return status ?? 1
  }
  const { message, error } = objectOrEmpty(report)
  const reason = message ?? objectOrEmpty(error).summary ?? stderr.trim()
  process.stderr.write(
    `The registry does not answer audits, so nothing was checked (${reason}). ` +
      'Name one that does: npm run advisories -- --registry=https://registry.npmjs.org\n',
  )
  return 2
}
