import { createUsageError } from '../cli-error.ts'
import type { DateOrder, DecimalMark } from '../import/cell-formats.ts'

/** Reads a whole number from 1. */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw createUsageError(`${JSON.stringify(text)} is not a whole number from 1.`)
}

/** Makes a reader of whole numbers from 1 to `max`. */
export function createCountParser(option: string, max: number): (text: string) => number {
  return text => {
    const count = parseCount(text)
    if (count <= max) return count
    throw createUsageError(`${option} must be at most ${max}.`)
  }
}

/** Seconds; true without a number. */
export type WaitOption = number | true | undefined

const SECONDS_DEFAULT = 60
const SECONDS_MAX = 86_400

/** Reads the number of `--wait [seconds]`. */
export function parseWait(text: string): number {
  const seconds = Number(text)
  if (/^\d{1,5}$/.test(text) && seconds >= 1 && seconds <= SECONDS_MAX) return seconds
  throw createUsageError(`--wait takes seconds from 1 to ${SECONDS_MAX}.`)
}

/** Null without --wait. */
export function waitMilliseconds(wait: WaitOption): number | null {
  if (wait === undefined) return null
  return (wait === true ? SECONDS_DEFAULT : wait) * 1_000
}

/** The options of `signalbox events create`. */
export interface CreateOptions {
  data?: string
  dryRun?: boolean
  wait?: WaitOption
  file?: string
  format?: 'ndjson' | 'csv'
  map?: string[]
  delimiter?: string
  decimal?: DecimalMark
  dates?: DateOrder
  timeZone?: string
  concurrency?: number
  refused?: string
}
