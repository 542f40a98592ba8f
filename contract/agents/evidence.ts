import Type, { type Static } from 'typebox'
import { named, nullable, stringEnum } from '../scalars.ts'
import { ACTIONS_MAX } from './actions.ts'

/** Who chose the entities of a proposal. */
export const TARGET_SOURCES = ['human_supplied', 'agent_selected'] as const
export type TargetSource = (typeof TARGET_SOURCES)[number]

/** Tools whose results may be named as evidence. */
export const EVIDENCE_TOOLS = [
  'get_account_state',
  'get_performance',
  'get_signal_health',
  'list_actions',
  'get_action',
] as const

export const Evidence = named(
  'Evidence',
  Type.Object(
    {
      source_tool: named('EvidenceTool', stringEnum(EVIDENCE_TOOLS)),
      fields_used: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
        minItems: 1,
        maxItems: 50,
        description:
          'Paths into a recent result of that tool to this credential, such as ' +
          'entities.0.daily_budget_minor; others are refused.',
      }),
      action_index: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: ACTIONS_MAX - 1,
          description: 'The action that it is for, counted from 0; all actions if omitted.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)
export type Evidence = Static<typeof Evidence>

const EvidenceField = named(
  'EvidenceField',
  Type.Object({
    path: Type.String(),
    is_found: nullable(
      Type.Boolean({
        description:
          'Whether a recent answer of that tool to this credential has it; false only in ' +
          'proposals of earlier versions. Null: not checked, without a kept answer over MCP.',
      }),
    ),
    value: nullable(Type.String({ description: 'JSON as the tool answered, truncated.' })),
    answered_at: nullable(Type.String({ format: 'date-time' })),
  }),
)

const EvidenceRecord = named(
  'EvidenceRecord',
  Type.Object({
    source_tool: Type.String(),
    fields_used: Type.Array(Type.String()),
    action_index: nullable(Type.Integer()),
    tool_used_at: nullable(
      Type.String({
        format: 'date-time',
        description: 'When this credential last used that tool; null if it never did.',
      }),
    ),
    fields: Type.Array(EvidenceField, {
      description: 'Each of fields_used, as it was when it was proposed.',
    }),
  }),
)

/** Where the agent says its numbers come from, and when it last read that source. */
export const EvidenceProvenance = named(
  'EvidenceProvenance',
  Type.Object({
    target_source: stringEnum(TARGET_SOURCES),
    evidence: Type.Array(EvidenceRecord),
  }),
)
export type EvidenceProvenance = Static<typeof EvidenceProvenance>
