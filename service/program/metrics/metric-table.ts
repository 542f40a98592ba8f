/** One metric, as Prometheus gets it. `labels` excludes those that a scrape adds. */
interface MetricDescription {
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  labels: readonly string[]
}

/**
 * Every metric of the service. Registration, `docs/operations/metrics.md`, the alert rules and the
 * dashboard are checked against this table. Names and labels are read by queries of operators, so
 * they do not change.
 */
export const METRICS = {
  signalbox_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from a request to the end of its response.',
    labels: ['operation', 'method', 'status'],
  },
  signalbox_rate_limited_total: {
    type: 'counter',
    help: 'Requests and events of batches answered with 429, by the limit that they exceeded.',
    labels: ['limit'],
  },
  signalbox_http_shed_total: {
    type: 'counter',
    help: 'Requests answered with 503 because the process was overloaded.',
    labels: [],
  },
  signalbox_events_total: {
    type: 'counter',
    help: 'Events that were stored (accepted) or had been stored before (duplicate).',
    labels: ['result'],
  },
  signalbox_commit_events: {
    type: 'histogram',
    help: 'Events per commit.',
    labels: [],
  },
  signalbox_commit_duration_seconds: {
    type: 'histogram',
    help: 'Time of one commit, from planning its events to the disk.',
    labels: [],
  },
  signalbox_commit_failures_total: {
    type: 'counter',
    help: 'Failed commits: the database failed (store), or an event in them (event).',
    labels: ['cause'],
  },
  signalbox_commit_failures_consecutive: {
    type: 'gauge',
    help: 'Failed commits since the last successful one.',
    labels: [],
  },
  signalbox_commit_queue_events: {
    type: 'gauge',
    help: 'Events that wait for a commit.',
    labels: [],
  },
  signalbox_commit_queue_events_max: {
    type: 'gauge',
    help: 'Maximum number of events that wait for a commit (SIGNALBOX_INGEST_QUEUE_MAX).',
    labels: [],
  },
  signalbox_commit_queue_refusals_total: {
    type: 'counter',
    help: 'Events answered with 503 because the queue was full.',
    labels: [],
  },
  signalbox_deliveries_settled_total: {
    type: 'counter',
    help: 'Settled deliveries by their new status.',
    labels: ['status'],
  },
  signalbox_delivery_settle_duration_seconds: {
    type: 'histogram',
    help: 'Time to write the outcome of the deliveries of one request, including retries.',
    labels: [],
  },
  signalbox_delivery_settle_retries_total: {
    type: 'counter',
    help: 'Retries of writing an outcome to the database.',
    labels: [],
  },
  signalbox_delivery_claim_duration_seconds: {
    type: 'histogram',
    help: 'Time to claim a batch of deliveries.',
    labels: [],
  },
  signalbox_delivery_look_duration_seconds: {
    type: 'histogram',
    help: 'Time to find the destination queues with due deliveries.',
    labels: [],
  },
  signalbox_delivery_errors_total: {
    type: 'counter',
    help: 'Errors of the delivery worker: the database was unavailable, or a bug.',
    labels: [],
  },
  signalbox_destinations_moved_total: {
    type: 'counter',
    help: 'Destinations that were paused (inactive) or resumed (active) by an answer.',
    labels: ['status'],
  },
  signalbox_delivery_requests_in_flight: {
    type: 'gauge',
    help: 'Batches being claimed, sent or settled.',
    labels: [],
  },
  signalbox_delivery_requests_max: {
    type: 'gauge',
    help: 'Maximum number of batches in flight (SIGNALBOX_DELIVERY_REQUESTS_MAX).',
    labels: [],
  },
  signalbox_delivery_destinations: {
    type: 'gauge',
    help: 'Destinations that this worker backs off from or probes, by the state of their circuit.',
    labels: ['circuit'],
  },
  signalbox_platform_requests_total: {
    type: 'counter',
    help: 'Requests to the platform by outcome.',
    labels: ['outcome'],
  },
  signalbox_platform_request_events_total: {
    type: 'counter',
    help: 'Events in requests to the platform by outcome; a retry counts again.',
    labels: ['outcome'],
  },
  signalbox_platform_request_duration_seconds: {
    type: 'histogram',
    help: 'Time until the platform answered or the request timed out.',
    labels: [],
  },
  signalbox_platform_reads_total: {
    type: 'counter',
    help: 'Reports read from the platform by outcome.',
    labels: ['outcome'],
  },
  signalbox_alerts_raised_total: {
    type: 'counter',
    help: 'Alerts that were raised about a destination or a workspace, by kind.',
    labels: ['kind'],
  },
  signalbox_notifications_failed_total: {
    type: 'counter',
    help: 'Messages of notifications that were not sent after all attempts, by channel.',
    labels: ['channel'],
  },
  signalbox_alerts_open: {
    type: 'gauge',
    help: 'Open alerts about destinations and workspaces, of the whole store.',
    labels: ['kind'],
  },
  signalbox_store_connections: {
    type: 'gauge',
    help: 'Connections to PostgreSQL that this process holds.',
    labels: ['state'],
  },
  signalbox_store_connections_waiting: {
    type: 'gauge',
    help: 'Statements that wait for a connection.',
    labels: [],
  },
  signalbox_store_node_up: {
    type: 'gauge',
    help: 'Whether each server of the store answered at this scrape.',
    labels: ['node'],
  },
  signalbox_replica_lag_seconds: {
    type: 'gauge',
    help: 'How far the read replica may be behind at this scrape; no value while it is away.',
    labels: [],
  },
  signalbox_replica_reads_total: {
    type: 'counter',
    help: 'Reads of history by result: from the replica, or why they came from the primary.',
    labels: ['result'],
  },
  signalbox_store_up: {
    type: 'gauge',
    help: 'Whether PostgreSQL answered at this scrape.',
    labels: [],
  },
  signalbox_delivery_due_queues: {
    type: 'gauge',
    help: 'Destination queues with due deliveries, of the whole store, by destination status.',
    labels: ['destination'],
  },
  signalbox_delivery_oldest_due_seconds: {
    type: 'gauge',
    help: 'Time since the oldest due delivery became due, of the whole store.',
    labels: ['destination'],
  },
  signalbox_deliveries_waiting: {
    type: 'gauge',
    help: 'Deliveries that are not final, of the whole store; 100000 means "or more".',
    labels: ['destination'],
  },
  signalbox_delivery_oldest_waiting_seconds: {
    type: 'gauge',
    help: 'Age of the oldest delivery that is not final, since it was planned.',
    labels: ['destination'],
  },
  signalbox_retention_behind_seconds: {
    type: 'gauge',
    help: 'Time since the oldest remaining partition should have been dropped.',
    labels: ['kind'],
  },
  signalbox_retention_days_behind: {
    type: 'gauge',
    help: 'The same in days, under its earlier name, which 0.6 no longer has.',
    labels: ['kind'],
  },
  signalbox_delivery_id_last: {
    type: 'gauge',
    help: 'Highest delivery id of any tracker; the limit is 2^53 - 1.',
    labels: [],
  },
  signalbox_job_runs_total: {
    type: 'counter',
    help: 'Job runs of this process by outcome.',
    labels: ['task', 'outcome'],
  },
  signalbox_job_duration_seconds: {
    type: 'histogram',
    help: 'Time of one job run.',
    labels: ['task'],
  },
  signalbox_job_errors_total: {
    type: 'counter',
    help: 'Errors of the job worker: the database was unavailable, or a bug.',
    labels: [],
  },
  signalbox_jobs: {
    type: 'gauge',
    help: 'Jobs of the whole store: queued, running, or failed after all attempts.',
    labels: ['state'],
  },
  signalbox_job_success_age_seconds: {
    type: 'gauge',
    help: 'Time since a scheduled job last succeeded in any process.',
    labels: ['task'],
  },
  signalbox_job_period_seconds: {
    type: 'gauge',
    help: 'Interval of a scheduled job.',
    labels: ['task'],
  },
  signalbox_actions_pending: {
    type: 'gauge',
    help: 'Actions of agents that wait for approval, of all workspaces.',
    labels: [],
  },
  signalbox_audit_logs_broken: {
    type: 'gauge',
    help: 'Audit logs that failed the last verification by this process; 0 before the first one.',
    labels: [],
  },
} as const satisfies Record<`signalbox_${string}`, MetricDescription>

export type MetricName = keyof typeof METRICS

/** The metrics of one type. */
export type NamesOf<Type extends MetricDescription['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never
}[MetricName]

export type LabelOf<Name extends MetricName> = (typeof METRICS)[Name]['labels'][number]
