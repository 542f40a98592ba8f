import type { CountedDay, Unavailable } from '../../platform-reports.ts'
import { unavailable } from './unavailable.ts'

/** How far back Meta keeps its counts, and the longest span that it shows ("Ads Pixel Stats"). */
const REACH_MILLISECONDS = 7 * 86_400_000
/** Meta's clock may be ahead of ours, and the answer takes a while. */
const SKEW_MILLISECONDS = 300_000

/**
 * Why the counts of a span cannot be had, known without asking; null when they can. What is out of
 * reach is left out of Meta's answer without a word, and would look like hours without events.
 */
export function outOfRange({ from, until }: CountedDay, now: () => Date): Unavailable | null {
  const reach = now().getTime() - REACH_MILLISECONDS + SKEW_MILLISECONDS
  const isTooLong = until.getTime() - from.getTime() > REACH_MILLISECONDS
  return from.getTime() < reach || isTooLong ? unavailable('out_of_range') : null
}
