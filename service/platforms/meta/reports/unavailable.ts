import type { Unavailable, UnavailableCause } from '../../platform-reports.ts'

/** What to do, where nothing more is known than the cause. None of them quotes the platform. */
const SENTENCES: Record<UnavailableCause, string> = {
  permission:
    'The platform does not show this dataset to the access token: give its user the right to ' +
    'use the dataset, or enter a token that has it.',
  credential: 'The platform refuses the access token: enter a new one.',
  throttled: 'The platform has had too many requests: wait, and ask again later.',
  out_of_reach: 'The platform gave no usable answer: ask again later.',
  out_of_range: 'The platform shows counts of the last 7 days only: nothing older can be read.',
  unreadable:
    'The platform gave an answer that cannot be read: ask again later, and report it if it stays.',
}

/** A report that cannot be had, in words for a person. */
export function unavailable(
  cause: UnavailableCause,
  {
    sentence = SENTENCES[cause],
    waitSeconds = 0,
  }: { sentence?: string; waitSeconds?: number } = {},
): Unavailable {
  return { kind: 'unavailable', cause, sentence, waitSeconds }
}
