import Type, { type Static } from 'typebox'
import { named, timestamp } from './scalars.ts'

/** Answer of getAgentContext: what an agent was approved for, and nothing beyond it. */
export const AgentContext = named(
  'AgentContext',
  Type.Object({
    connection: Type.Object({
      id: Type.Integer(),
      name: Type.String({ description: 'As the workspace calls it.' }),
      approved_at: timestamp('When a person approved it.'),
    }),
    client: Type.Object({
      name: Type.String({ description: 'As the client registered itself; nobody verified it.' }),
    }),
    permissions: Type.Array(Type.String({ enum: ['ad-account.read', 'actions.propose'] }), {
      description: 'What was approved for this ad account.',
    }),
    ad_account: Type.Object({
      id: Type.Integer({ description: "Ours, not the platform's number." }),
      name: Type.String(),
      platform: Type.String(),
      currency: Type.String({ description: 'ISO 4217.' }),
      time_zone: Type.String({ description: 'IANA time zone.' }),
    }),
    workspace: Type.Object({ id: Type.Integer(), name: Type.String() }),
    signals: Type.Object({
      tracker_connected: Type.Boolean({
        description: 'A tracker of the workspace has stored an event.',
      }),
      dataset_connected: Type.Boolean({
        description: 'An active destination delivers for this ad account.',
      }),
    }),
  }),
)
export type AgentContext = Static<typeof AgentContext>
