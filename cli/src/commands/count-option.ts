import { createUsageError } from '../exit-codes.ts'

/** Reads a whole number from 1. */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw createUsageError(`${JSON.stringify(text)} is not a whole number from 1.`)
}
