import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { emptyFigures, readFigures, runCampaign } from './campaign.ts'
import { DEFAULT_PLATFORMS, parsePlatformNames } from './campaign-platforms.ts'
import { formatCampaign } from './campaign-report.ts'
import { startInstallation } from './installation.ts'
import { parseFaultNames } from './schedule.ts'

const USAGE = `Usage: npm run reliability -- [--cycles 1000] [--seed 1] [--resume]
         [--only 'kill process'] [--platform tiktok]

Runs an installation under load, causes a fault in each cycle, and checks after every 20 faults
that no event was lost or doubled. The exit code is 1 when a promise was broken. --only chooses
faults by their names, and may be given several times. --platform chooses the platforms beside
Meta by their names, or all of them; default: google_ads.
`
const FIGURES = join(import.meta.dirname, '../../.data/reliability/campaign.json')

const options = readOptions(process.argv.slice(2))
if (options === null) {
  process.stderr.write(USAGE)
  process.exit(1)
}
const print = (line: string) => void process.stdout.write(`${line}\n`)
const { cycles, seed, isResumed, only, platforms } = options
const figures = (isResumed ? readFigures(FIGURES, seed) : null) ?? emptyFigures(seed)
const installation = await startInstallation({ platforms })
let closing: Promise<void> | undefined
const close = () => {
  closing ??= installation.close()
  return closing
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void close().finally(() => process.exit(1)))
}
try {
  for (const [fault, isPossible] of Object.entries(installation.capabilities)) {
    if (!isPossible) print(`NOT RUN: ${fault}, because this account may not mount a file system.`)
  }
  if (!installation.hasMemoryLimit) {
    print('NOT LIMITED: no control group for memory, so --max-old-space-size stands in for it.')
  }
  await runCampaign(installation, { cycles, path: FIGURES, figures, only, print })
  print(`\n${formatCampaign(figures)}`)
  if (Object.keys(figures.violations).length > 0) process.exitCode = 1
} finally {
  await close()
}

/** Null when they cannot be understood. */
function readOptions(args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        cycles: { type: 'string', default: '1000' },
        seed: { type: 'string', default: '1' },
        resume: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true },
        platform: { type: 'string', multiple: true, default: [...DEFAULT_PLATFORMS] },
      },
    })
    const isCount = (text: string) => /^[1-9]\d{0,7}$/.test(text)
    if (!isCount(values.cycles) || !isCount(values.seed)) return null
    const only = values.only && parseFaultNames(values.only)
    const platforms = parsePlatformNames(values.platform)
    if (only === null || platforms === null) return null
    const { cycles, seed, resume: isResumed } = values
    return { cycles: Number(cycles), seed: Number(seed), isResumed, only, platforms }
  } catch {
    return null
  }
}
