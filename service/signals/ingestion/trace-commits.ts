import { findActiveWork, type Span, type Tracer } from '../../runtime/tracing/tracer.ts'
import type { CommitOutcome } from './commit-events.ts'
import type { EventDraft } from './event-draft.ts'
import type { CommitQueue } from './group-commit.ts'

type CommitFunction = (drafts: readonly EventDraft[]) => Promise<CommitOutcome[]>

/**
 * Makes spans of commits. Many requests share a commit, so it is a trace of its own with links to
 * them; each request gets a span for its wait. Each new event begins the trace under which it is
 * delivered later, linked with the request and the commit.
 */
export class CommitTracer {
  readonly #tracer: Tracer
  readonly #requests = new WeakMap<EventDraft, Span>()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  /** Remembers which request submits a draft. */
  traceQueue(
    queue: CommitQueue<EventDraft, CommitOutcome>,
  ): CommitQueue<EventDraft, CommitOutcome> {
    return {
      get queued() {
        return queue.queued
      },
      get refusals() {
        return queue.refusals
      },
      drain: () => queue.drain(),
      submit: (draft, bytes) => {
        const request = findActiveWork()?.span
        if (request === undefined) return queue.submit(draft, bytes)
        this.#requests.set(draft, request)
        const wait = this.#tracer.startSpan('commit event', {
          kind: 'internal',
          parent: request.ref,
          attributes: { 'signalbox.tracker_id': draft.trackerId },
        })
        const outcome = queue.submit(draft, bytes)
        outcome.then(
          ({ isNew }) => wait.end({ 'signalbox.duplicate': !isNew }),
          error => wait.end({}, errorCode(error)),
        )
        return outcome
      },
    }
  }

  traceCommits(commit: CommitFunction): CommitFunction {
    return async drafts => {
      const requests = drafts.flatMap(draft => this.#requests.get(draft)?.ref ?? [])
      const span = this.#tracer.startSpan('commit batch', {
        kind: 'client',
        links: requests,
        attributes: { 'db.system.name': 'postgresql', 'db.operation.batch.size': drafts.length },
      })
      try {
        const outcomes = await commit(drafts)
        for (const [index, draft] of drafts.entries()) {
          this.#linkEvent(draft, { commit: span, isNew: outcomes[index]?.isNew === true })
        }
        span.end({ 'signalbox.new_events': outcomes.filter(({ isNew }) => isNew).length })
        return outcomes
      } catch (error) {
        span.end({}, errorCode(error))
        throw error
      }
    }
  }

  /** A duplicate has no span of its own; its request leads to the trace of the first one. */
  #linkEvent(draft: EventDraft, { commit, isNew }: { commit: Span; isNew: boolean }): void {
    const request = this.#requests.get(draft)
    request?.link(this.#tracer.eventRef(draft))
    if (!isNew) return
    const links = request ? [request.ref, commit.ref] : [commit.ref]
    const attributes = { 'signalbox.tracker_id': draft.trackerId }
    this.#tracer.startEventSpan(draft, { kind: 'producer', links, attributes }).end()
  }
}

/** PostgreSQL's code or the name of the class; a message could repeat values. */
function errorCode(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name ?? 'unknown')
}
