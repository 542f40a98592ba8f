import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Installation } from './installation.ts'
import { runSchedule, type ScheduleResult } from './run-schedule.ts'
import { createSchedule, type FaultName } from './schedule.ts'

/** The figures of a campaign so far. They are saved after each schedule, so that it can go on. */
export interface CampaignFigures {
  seed: number
  cycles: number
  schedules: number
  seconds: number
  acknowledged: number
  retries: number
  repeats: number
  /** Requests of Google Ads whose result was read. */
  receipts: number
  memoryPeakBytes: Record<string, number>
  /** By kind of fault: every time until the next event was acknowledged. */
  recoveries: Record<string, number[]>
  settleMilliseconds: number[]
  /** By the seed of the schedule. */
  violations: Record<string, string[]>
}

/** Faults of a schedule, after which everything is checked. */
const SCHEDULE_LENGTH = 20

interface CampaignOptions {
  cycles: number
  /** Null: the campaign is not saved. */
  path: string | null
  /** What was saved there before, or the start of a new campaign. */
  figures: CampaignFigures
  /** The faults to choose from. Default: all of them. */
  only?: readonly FaultName[] | undefined
  print: (line: string) => void
}

/** Runs schedules until the campaign has enough cycles. Their seeds follow each other. */
export async function runCampaign(
  installation: Installation,
  { cycles, path, figures, only, print }: CampaignOptions,
): Promise<CampaignFigures> {
  const { capabilities } = installation
  let erasures = 0
  while (figures.cycles < cycles) {
    const seed = figures.seed + figures.schedules
    const length = Math.min(SCHEDULE_LENGTH, cycles - figures.cycles)
    const start = performance.now()
    const onCycle = (fault: string) => print(`  ${fault}`)
    print(`Schedule ${seed}:`)
    const schedule = createSchedule(seed, { length, capabilities, only })
    const result = await runSchedule(installation, schedule, { erasures, onCycle })
    erasures = result.erasures
    addResult(figures, result, (performance.now() - start) / 1_000)
    for (const { name, memoryPeakBytes } of installation.processes.values()) {
      const peak = figures.memoryPeakBytes[name] ?? 0
      figures.memoryPeakBytes[name] = Math.max(peak, memoryPeakBytes)
    }
    if (path !== null) saveFigures(path, figures)
    const platforms = [...installation.destinations.keys()].slice(1)
    printResult(result, { length, only, platforms }, print)
  }
  return figures
}

export function emptyFigures(seed: number): CampaignFigures {
  return {
    seed,
    cycles: 0,
    schedules: 0,
    seconds: 0,
    acknowledged: 0,
    retries: 0,
    repeats: 0,
    receipts: 0,
    memoryPeakBytes: {},
    recoveries: {},
    settleMilliseconds: [],
    violations: {},
  }
}

/** Null when there is none, or when it belongs to another seed. */
export function readFigures(path: string, seed: number): CampaignFigures | null {
  if (!existsSync(path)) return null
  const figures = JSON.parse(readFileSync(path, 'utf8')) as CampaignFigures
  return figures.seed === seed ? figures : null
}

function saveFigures(path: string, figures: CampaignFigures): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.new`, JSON.stringify(figures))
  renameSync(`${path}.new`, path)
}

function addResult(figures: CampaignFigures, result: ScheduleResult, seconds: number): void {
  figures.cycles += result.cycles.length
  figures.schedules += 1
  figures.seconds += seconds
  figures.acknowledged += result.acknowledged
  figures.retries += result.retries
  figures.repeats += result.repeats
  figures.receipts += result.receipts
  figures.settleMilliseconds.push(result.settleMilliseconds)
  for (const { kind, recoveryMilliseconds } of result.cycles) {
    const recoveries = figures.recoveries[kind] ?? []
    figures.recoveries[kind] = [...recoveries, recoveryMilliseconds]
  }
  if (result.violations.length > 0) figures.violations[result.seed] = result.violations
}

interface PrintedOptions extends Pick<CampaignOptions, 'only'> {
  length: number
  platforms: readonly string[]
}

function printResult(
  { seed, acknowledged, settleMilliseconds, violations }: ScheduleResult,
  { length, only = [], platforms }: PrintedOptions,
  print: (line: string) => void,
): void {
  const seconds = (settleMilliseconds / 1_000).toFixed(1)
  print(`  ${acknowledged} events, settled in ${seconds} s, ${violations.length} violations`)
  for (const violation of violations) print(`  VIOLATION ${violation}`)
  if (violations.length === 0) return
  const faults = only.map(name => ` --only '${name}'`)
  const chosen = [...faults, ...platforms.map(name => ` --platform ${name}`)].join('')
  print(`  Repeat it with: npm run reliability -- --cycles ${length} --seed ${seed}${chosen}`)
}
