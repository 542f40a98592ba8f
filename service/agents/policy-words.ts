import type { ExecutionMode } from '@signalbox/contract/agents/policy.ts'

/** What each mode is called, and what it means for whoever chooses it. */
export const MODE_WORDS: Record<ExecutionMode, readonly [name: string, meaning: string]> = {
  suggest_only: [
    'Suggest only',
    'Agents propose, people decide, and nothing is carried out here: you do it yourself at the ' +
      'platform.',
  ],
  ask: ['Ask', 'Agents propose, and what a person approves is carried out at once.'],
  auto_with_limits: [
    'Automatic within limits',
    'What is within the limits below, and not in the quiet hours, is carried out at once without ' +
      'asking. A person decides on the rest.',
  ],
}

const CARRIED_OUT = 'What you approve is carried out at once, and then checked.'

/** What approving does, said beside the button. */
export const APPROVAL_WORDS: Record<ExecutionMode, string> = {
  suggest_only:
    'Nothing is carried out here: the policy of this workspace is to suggest only. What you ' +
    'approve is yours to do at the platform.',
  ask: CARRIED_OUT,
  auto_with_limits: CARRIED_OUT,
}
