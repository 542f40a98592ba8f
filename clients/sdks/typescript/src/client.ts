import type {
  DeletionResult,
  DeletionSubmission,
  EmqReport,
  EventDetail,
  EventList,
  EventResult,
  EventSubmission,
  NewVerification,
  ReconciliationReports,
  ReplayResult,
  ReplaySubmission,
  SandboxDiscovery,
  SandboxEventResult,
  SandboxEventSubmission,
  SandboxKey,
  TestMode,
  TestModeSubmission,
  TestPurchase,
  TestPurchaseSubmission,
} from './contract.generated.ts'
import { InvalidArgumentError } from './errors.ts'
import { createEvents } from './event-batch.ts'
import { EventListRequest, type ListParameters } from './event-list.ts'
import { type CreatedEvent, prepareEvent, sendEvent } from './event-submission.ts'
import { EventQueue, type QueueOptions } from './queue.ts'
import { type APIRequest, type Result, send } from './request.ts'
import {
  type CallOptions,
  type ClientOptions,
  checkToken,
  resolveSettings,
  type Settings,
} from './settings.ts'
import { type WaitOptions, waitForDelivery } from './wait-for-delivery.ts'

export interface GetOptions extends CallOptions {
  /** Whether the tracker secret or a publishable key sent the event; the first by default. */
  space?: 'secret' | 'publishable' | undefined
}

/** A client of the Signalbox API. Make one and keep it. */
export class Signalbox {
  readonly #settings: Settings

  /** Throws an InvalidArgumentError that names the option or the variable which is wrong. */
  constructor(options: ClientOptions = {}) {
    this.#settings = resolveSettings(options)
  }

  readonly events = {
    /** Submits one event. Without an id it gets one before the first attempt. */
    create: (event: EventSubmission, options?: CallOptions): Promise<Result<CreatedEvent>> =>
      this.#createEvent(event, options),

    /**
     * Submits many events, 200 in a request, and returns their results by position. It throws what
     * is wrong with a request; what is wrong with an event is its result.
     */
    createEvents: (
      events: readonly EventSubmission[],
      options?: CallOptions,
    ): Promise<EventResult[]> => createEvents(this.#settings, events, options),

    /** Checks that the token can write events. */
    verify: (options?: CallOptions): Promise<Result<NewVerification>> =>
      this.#send(
        { operation: 'events.verify', method: 'POST', path: '/verification-events' },
        options,
      ),

    /** One event with its deliveries and why each is in its state. */
    get: (eventId: string, { space, ...options }: GetOptions = {}): Promise<Result<EventDetail>> =>
      this.#send(
        {
          operation: 'events.get',
          method: 'GET',
          path: `/events/${encodeId(eventId)}`,
          query: { space },
        },
        options,
      ),

    /** Events, newest first: `await` one page, or `for await` all of them. */
    list: ({ page, ...query }: ListParameters = {}, options?: CallOptions): EventListRequest => {
      const request = {
        operation: 'events.list',
        method: 'GET',
        path: '/dashboard/events',
      } as const
      const readPage = (page: number | undefined) =>
        this.#send<EventList>({ ...request, query: { ...query, page } }, options)
      return new EventListRequest(page, readPage)
    },

    /** Reads an event until all its deliveries are final. Throws an APITimeoutError otherwise. */
    waitForDelivery: (
      eventId: string,
      { space, ...options }: WaitOptions = {},
    ): Promise<Result<EventDetail>> =>
      waitForDelivery(more => this.events.get(eventId, { space, ...more }), options),
  }

  readonly destinations = {
    /** Turns test mode on or off. */
    setTestMode: (
      destinationId: string,
      testMode: TestModeSubmission,
      options?: CallOptions,
    ): Promise<Result<TestMode>> =>
      this.#send(
        {
          operation: 'destinations.setTestMode',
          method: 'PATCH',
          path: `/destinations/${encodeId(destinationId)}/test-mode`,
          body: testMode,
        },
        options,
      ),

    /** Sends a purchase to the platform while test mode is on. Never retried. */
    sendTestPurchase: (
      destinationId: string,
      testPurchase?: TestPurchaseSubmission,
      options?: CallOptions,
    ): Promise<Result<TestPurchase>> =>
      this.#send(
        {
          operation: 'destinations.sendTestPurchase',
          method: 'POST',
          path: `/destinations/${encodeId(destinationId)}/test-purchase`,
          body: testPurchase,
          isRetried: false,
        },
        options,
      ),
  }

  readonly deliveries = {
    /** Queues failed deliveries again. Never retried. */
    replay: (filters?: ReplaySubmission, options?: CallOptions): Promise<Result<ReplayResult>> =>
      this.#send(
        {
          operation: 'deliveries.replay',
          method: 'POST',
          path: '/deliveries/replay',
          body: filters,
          isRetried: false,
        },
        options,
      ),
  }

  readonly reports = {
    /** What the platform counted beside what was accepted, for one day. */
    reconciliation: (
      { date }: { date?: string | undefined } = {},
      options?: CallOptions,
    ): Promise<Result<ReconciliationReports>> =>
      this.#send(
        {
          operation: 'reports.reconciliation',
          method: 'GET',
          path: '/reports/reconciliation',
          query: { date },
        },
        options,
      ),

    /** The platform's scores of event match quality. */
    matchQuality: (options?: CallOptions): Promise<Result<EmqReport>> =>
      this.#send(
        { operation: 'reports.matchQuality', method: 'GET', path: '/reports/emq' },
        options,
      ),
  }

  readonly userData = {
    /** Deletes what is stored of a person, by the digest of an identifier (see `hash`). */
    delete: (
      submission: DeletionSubmission,
      options?: CallOptions,
    ): Promise<Result<DeletionResult>> =>
      this.#send(
        { operation: 'userData.delete', method: 'DELETE', path: '/user-data', body: submission },
        options,
      ),
  }

  /** Needs no token and stores nothing. */
  readonly sandbox = {
    discover: (options?: CallOptions): Promise<Result<SandboxDiscovery>> =>
      this.#send(
        { operation: 'sandbox.discover', method: 'GET', path: '/sandbox', credential: null },
        options,
      ),

    createKey: (options?: CallOptions): Promise<Result<SandboxKey>> =>
      this.#send(
        { operation: 'sandbox.createKey', method: 'POST', path: '/sandbox/keys', credential: null },
        options,
      ),

    /** A key without a write request. */
    readKey: (options?: CallOptions): Promise<Result<SandboxKey>> =>
      this.#send(
        { operation: 'sandbox.readKey', method: 'GET', path: '/sandbox/keys', credential: null },
        options,
      ),

    /** Says what production would do with an event. */
    validate: (
      event: SandboxEventSubmission,
      { apiKey, ...options }: CallOptions & { apiKey: string },
    ): Promise<Result<SandboxEventResult>> => {
      checkToken(apiKey)
      return this.#send(
        {
          operation: 'sandbox.validate',
          method: 'POST',
          path: '/sandbox/keyed-events',
          body: event,
          credential: apiKey,
        },
        options,
      )
    },
  }

  /** A queue in memory that sends events in the background. Flush or close it before you exit. */
  queue(options: QueueOptions = {}): EventQueue {
    return new EventQueue(this.#settings, options)
  }

  async #createEvent(event: EventSubmission, options?: CallOptions): Promise<Result<CreatedEvent>> {
    return sendEvent(this.#settings, prepareEvent(event), options)
  }

  async #send<Body extends object>(
    request: APIRequest,
    options?: CallOptions,
  ): Promise<Result<Body>> {
    return send<Body>(this.#settings, request, options)
  }
}

/** `.` and `..` would name another path, even when they are encoded. */
function encodeId(id: string): string {
  if (typeof id === 'string' && !['', '.', '..'].includes(id)) return encodeURIComponent(id)
  throw new InvalidArgumentError('An id must be text other than "", "." and "..".')
}
