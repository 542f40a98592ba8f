import type {
  ActionStatus,
  ActionType,
  EntityState,
  EntityType,
  Proposer,
} from '@signalbox/contract/agents/actions.ts'
import type { ExecutionMode } from '@signalbox/contract/agents/policy.ts'
import { html } from 'ghtml'

export const ACTION_TYPE_LABELS: Record<ActionType, string> = {
  increase_budget: 'Raise the daily budget',
  decrease_budget: 'Lower the daily budget',
  pause: 'Pause',
  resume: 'Resume',
}

export const ENTITY_TYPE_LABELS: Record<EntityType, string> = {
  ad_account: 'ad account',
  campaign: 'campaign',
  ad_set: 'ad set',
  ad: 'ad',
}

export const ACTION_STATUS_LABELS: Record<ActionStatus, string> = {
  pending: 'Pending approval',
  rejected: 'Rejected',
  approved_without_execution: 'Approved, not executed',
  executing: 'Executing',
  executed_pending_verification: 'Verifying',
  verified: 'Verified',
  failed: 'Failed',
  execution_uncertain: 'Needs review',
  rolled_back: 'Rolled back',
  blocked: 'Blocked',
}

export const ENTITY_STATUS_LABELS: Record<EntityState['status'], string> = {
  active: 'Active',
  paused: 'Paused',
}

export const PROPOSER_LABELS: Record<Proposer['type'], string> = {
  connection: 'connected agent',
  execution_token: 'execution token',
  person: 'person',
}

export const EXECUTION_MODE_LABELS: Record<
  ExecutionMode,
  readonly [name: string, description: string]
> = {
  suggest_only: [
    'Suggest only',
    'Agents propose and people decide. Nothing is executed here: you make approved changes on ' +
      'the platform yourself.',
  ],
  ask: ['Ask', 'Agents propose. Changes that a person approves are executed immediately.'],
  auto_with_limits: [
    'Automatic within limits',
    'Changes within the limits below and outside the quiet hours are executed without approval. ' +
      'Other changes require approval.',
  ],
}

const EXECUTED = 'Approved changes are executed and verified immediately.'

/** The effect of an approval, shown next to the button. */
export const APPROVAL_EFFECTS: Record<ExecutionMode, string> = {
  suggest_only:
    'Nothing is executed here, because the policy of this workspace is Suggest only. Make ' +
    'approved changes on the platform yourself.',
  ask: EXECUTED,
  auto_with_limits: EXECUTED,
}

/**
 * A name from an agent or a platform, isolated so that it cannot change the text direction around
 * it. Returns HTML.
 */
export function untrustedName(name: string): string {
  return html`<bdi>${escapeInvisibleLine(name)}</bdi>`
}

/** A text from an agent, platform or user, as a block quote. Returns HTML. */
export function untrustedText(text: string): string {
  return html`<blockquote class="written" dir="auto">${escapeInvisible(text)}</blockquote>`
}

/**
 * Characters that are invisible or change the text direction, except the two joiners that scripts
 * and emoji need.
 */
const INVISIBLE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g
const EMPTY_LINES = /\n{3,}/g

/**
 * Makes invisible characters of an untrusted text visible by their code point, such as `[U+202E]`,
 * because people decide based on such texts.
 */
export function escapeInvisible(text: string): string {
  return text
    .replace(LINE_BREAKS, '\n')
    .replace(EMPTY_LINES, '\n\n')
    .replace(INVISIBLE, character => {
      const code = character.codePointAt(0) ?? 0
      return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`
    })
}

/** The same on one line, truncated. */
export function escapeInvisibleLine(text: string, charactersMax = 300): string {
  const line = escapeInvisible(text).replaceAll(/\s+/g, ' ').trim()
  const characters = [...line]
  return characters.length <= charactersMax
    ? line
    : `${characters.slice(0, charactersMax).join('')}…`
}
