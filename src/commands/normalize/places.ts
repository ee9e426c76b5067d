/** Where batches were computed: each backend and adapter once, with how many batches it computed. */
import type { Report } from '../../report.ts';

export interface Place {
  readonly backend: Report['backend'];
  readonly adapter: Report['adapter'];
  /** Why there; of its first batch. */
  readonly reason: string;
  readonly batches: number;
}

/** A report of one batch, or of several. */
export interface Placed {
  /** `mixed` where some batches were computed on the CPU and some on a GPU. */
  readonly backend: Report['backend'] | 'mixed';
  readonly backend_reason: string;
  /** The only one that was used; null: none, or several. */
  readonly adapter: Report['adapter'];
  readonly backends: readonly Place[];
}

type Single = Pick<Report, 'backend' | 'backend_reason' | 'adapter'>;

/** Places in the order in which they were first used. */
export function addPlaces(reports: readonly (Single | Placed)[]): Placed {
  const places = new Map<string, Place>();
  for (const place of reports.flatMap(placesOf)) {
    const key = JSON.stringify([place.backend, place.adapter]);
    const before = places.get(key);
    places.set(key, before ? { ...before, batches: before.batches + place.batches } : place);
  }
  const backends = [...places.values()];
  const [first] = backends;
  const adapters = backends.filter(({ adapter }) => adapter !== null);
  return {
    backend: backends.every(({ backend }) => backend === first.backend) ? first.backend : 'mixed',
    backend_reason: backends.length === 1 ? first.reason : backends.map(describeShare).join('; '),
    adapter: adapters.length === 1 ? adapters[0].adapter : null,
    backends,
  };
}

function placesOf(report: Single | Placed): readonly Place[] {
  if ('backends' in report) return report.backends;
  const { backend, adapter, backend_reason: reason } = report;
  return [{ backend, adapter, reason, batches: 1 }];
}

function describeShare(place: Place): string {
  return `${place.batches} ${place.batches === 1 ? 'batch' : 'batches'} on ${describePlace(place)}: ${place.reason}`;
}

export function describePlace({ backend, adapter }: Pick<Place, 'backend' | 'adapter'>): string {
  return backend === 'cpu' ? 'CPU' : `${adapter?.description}${adapter?.software ? ' (software)' : ''}`;
}
