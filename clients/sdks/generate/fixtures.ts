/** A contract with each form of schema that the printers know. */
export const SMALL_CONTRACT = {
  openapi: '3.1.0',
  info: { title: 'Small', version: '1.0.0' },
  servers: [{ url: 'https://small.example' }],
  paths: {
    '/orders': {
      post: {
        operationId: 'createOrder',
        requestBody: { content: json({ $ref: '#/components/schemas/OrderSubmission' }) },
        responses: {
          201: { content: json({ $ref: '#/components/schemas/Order' }) },
          422: { content: json({ $ref: '#/components/schemas/Unused' }) },
        },
      },
    },
  },
  components: {
    schemas: {
      EventTime: { anyOf: [{ type: 'integer' }, { type: 'string' }], title: 'EventTime' },
      CardOrder: {
        type: 'object',
        required: ['method'],
        properties: {
          method: { type: 'string', const: 'card' },
          event_time: { $ref: '#/components/schemas/EventTime' },
          note: { type: ['string', 'null'], description: 'Null */ clears it.' },
          quantity: { type: 'integer', minimum: 1 },
        },
      },
      CashOrder: {
        type: 'object',
        required: ['method', 'tags'],
        properties: {
          method: { type: 'string', const: 'cash' },
          tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
        },
      },
      OrderSubmission: {
        oneOf: [
          { $ref: '#/components/schemas/CardOrder' },
          { $ref: '#/components/schemas/CashOrder' },
        ],
        discriminator: { propertyName: 'method' },
        description: 'One of two.',
      },
      OrderStatus: { type: 'string', enum: ['open', 'failed:auth'] },
      FreeForm: { type: 'object', additionalProperties: true },
      OrderId: { type: 'string', minLength: 1 },
      Counts: { type: 'object', additionalProperties: { type: 'integer' } },
      Order: {
        type: 'object',
        required: ['id', 'status', 'value_amount', 'extra', 'paid', 'rate', 'from', 'counts'],
        properties: {
          id: { $ref: '#/components/schemas/OrderId' },
          status: { $ref: '#/components/schemas/OrderStatus' },
          value_amount: { type: ['number', 'null'], format: 'double' },
          extra: { anyOf: [{ $ref: '#/components/schemas/FreeForm' }, { type: 'null' }] },
          paid: { type: 'boolean', const: true },
          rate: { type: 'number', format: 'double' },
          from: { type: ['integer', 'null'] },
          counts: { $ref: '#/components/schemas/Counts' },
          items: { type: 'array', items: {} },
        },
      },
      Unused: { type: 'object', properties: {} },
    },
  },
}

function json(schema: object) {
  return { 'application/json': { schema } }
}
