import Type, { type Static } from 'typebox'
import { named, nullable, stringEnum, timestamp } from '../scalars.ts'

/** In the order in which a person takes them. */
export const START_STEPS = [
  'key_issued',
  'verification_received',
  'destination_connected',
  'test_purchase_accepted',
  'event_received',
  'delivery_accepted',
] as const
export type StartStep = (typeof START_STEPS)[number]

export const StartChecklist = named(
  'StartChecklist',
  Type.Object({
    steps: Type.Array(
      named(
        'StartStepState',
        Type.Object({
          step: stringEnum(START_STEPS),
          is_done: Type.Boolean(),
          at: nullable(timestamp('When, for the steps whose time is stored.')),
        }),
      ),
      { description: 'All steps, in order.' },
    ),
    is_complete: Type.Boolean(),
  }),
)
export type StartChecklist = Static<typeof StartChecklist>
