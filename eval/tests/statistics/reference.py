"""Computes the fixtures of testdata/statistics with numpy, scipy, scikit-learn and statsmodels: nothing of this project is in them.

    python3 -m venv target/statistics && target/statistics/bin/pip install -r eval/tests/statistics/requirements.txt
    target/statistics/bin/python eval/tests/statistics/reference.py [--check]

Without --check it writes the files. With it, it computes everything again and fails with every number that differs from the files.
Values are multiples of 1/16, so that sums are exact in any order, and what is equal in one program is equal in the other.
"""

import argparse
import itertools
import json
import math
import pathlib
import sys
from fractions import Fraction

import numpy as np
from scipy import stats
from scipy.stats import _resampling
from sklearn.metrics import roc_auc_score, roc_curve
from statsmodels.stats.proportion import proportion_confint

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "testdata" / "statistics"
RATES = [0.001, 0.005, 0.01, 0.1]
DRAWS = 499


def sixteenths(rng, low, high, size):
    return (rng.integers(low, high, size) / 16).tolist()


# --- AUC, ROC, recall at a false-positive rate, medians ---------------------------------------------------------------------------------------------------


def operating_point(positives, negatives, rate):
    """The last point of scikit-learn's curve that is not beyond the rate: threshold, realised rate, recall."""
    truth = [1] * len(positives) + [0] * len(negatives)
    fpr, tpr, thresholds = roc_curve(truth, list(positives) + list(negatives), drop_intermediate=False)
    at = np.flatnonzero(fpr <= rate + 1e-12)[-1]
    return float(thresholds[at]), float(fpr[at]), float(tpr[at])


def ranks():
    rng = np.random.default_rng(11)
    cases = {
        "without ties": ([0.9, 0.8, 0.35], [0.7, 0.3, 0.2, 0.1]),
        "all tied": ([0.5] * 4, [0.5] * 3),
        "apart": ([3.0, 4.0], [1.0, 2.0]),
        "the wrong way round": ([1.0, 2.0], [2.0, 3.0, 4.0]),
        "many ties": (sixteenths(rng, 4, 17, 37), sixteenths(rng, 0, 13, 52)),
        "signed": (sixteenths(rng, -30, 40, 40), sixteenths(rng, -40, 20, 41)),
        "a thousand negatives": (sixteenths(rng, 0, 1600, 60), sixteenths(rng, -1200, 1000, 1000)),
    }
    found = []
    for name, (positives, negatives) in cases.items():
        mann_whitney = stats.mannwhitneyu(positives, negatives).statistic
        auc = roc_auc_score([1] * len(positives) + [0] * len(negatives), positives + negatives)
        assert math.isclose(mann_whitney / (len(positives) * len(negatives)), auc, rel_tol=1e-12)
        fpr, tpr, _ = roc_curve([1] * len(positives) + [0] * len(negatives), positives + negatives, drop_intermediate=False)
        points = []
        for rate in RATES:
            threshold, realised, recall = operating_point(positives, negatives, rate)
            # The curve's first point lies above every score, and has no threshold.
            points.append({"rate": rate, "lowest_reached": threshold if math.isfinite(threshold) else None, "realised": realised, "recall": recall})
        found.append({
            "name": name, "positives": positives, "negatives": negatives, "numerator": float(mann_whitney), "auc": float(auc),
            "curve": np.column_stack([fpr, tpr]).tolist() if len(negatives) < 100 else None, "points": points,
            "medians": [float(np.median(positives)), float(np.median(negatives))],
        })
    return {"cases": found}


# --- Shares and precision --------------------------------------------------------------------------------------------------------------------------------


def shares():
    rng = np.random.default_rng(12)
    plain = [[0, 15], [15, 15], [0, 605], [1, 10], [5, 10], [30, 200], [197, 200], [3, 788]]
    trials = [{"hits": hits, "number": number, "wilson": list(proportion_confint(hits, number, method="wilson"))} for hits, number in plain]
    clustered = []
    for number, chance in [(1, 0.5), (6, 0.3), (40, 0.05), (40, 0.95), (25, 0.0)]:
        sizes = rng.integers(1, 9, number)
        hits = rng.binomial(sizes, chance)
        share = hits.sum() / sizes.sum()
        effective = sizes.sum() ** 2 / (sizes**2).sum()
        # `number` need not be whole for statsmodels either.
        wilson = proportion_confint(share * effective, effective, method="wilson")
        exact = proportion_confint(share * effective, effective, method="beta")
        exact = [0.0 if share == 0 else exact[0], 1.0 if share == 1 else exact[1]]
        clustered.append({
            "units": np.column_stack([sizes, hits]).tolist(), "share": float(share), "effective": float(effective),
            "wilson": [float(end) for end in wilson], "exact": [float(end) for end in exact],
        })
    precision = []
    for recall, rate in itertools.product([[90, 100], [1, 40], [0, 40]], [[12, 1000], [0, 300], [1, 3]]):
        intervals = [proportion_confint(hits, number, method="wilson") for hits, number in (recall, rate)]
        for prevalence in ["1/1000", "1/100", "1/10"]:
            p = Fraction(prevalence)

            def at(recall, rate, p=p):
                right, wrong = Fraction(recall) * p, Fraction(rate) * (1 - p)
                return float(right / (right + wrong)) if right + wrong else None

            precision.append({
                "recall": recall, "rate": rate, "prevalence": float(p), "value": at(Fraction(*recall), Fraction(*rate)),
                "ends": [at(max(intervals[0][0], 0.0), intervals[1][1]), at(intervals[0][1], max(intervals[1][0], 0.0) if rate[0] else 0.0)],
            })
    return {"trials": trials, "clustered": clustered, "precision": precision}


# --- Bootstrap -------------------------------------------------------------------------------------------------------------------------------------------


class Trajectories:
    """Trajectories of units: unit numbers and values. A figure of drawn units is that of their trajectories, each as often as its unit was drawn."""

    def __init__(self, units, *values):
        self.units, self.values = np.array(units), [np.array(value) for value in values]

    def drawn(self, units, which=0):
        return np.concatenate([self.values[which][self.units == unit] for unit in units])


def auc(positives, negatives):
    return float(stats.mannwhitneyu(positives, negatives, method="asymptotic").statistic) / (len(positives) * len(negatives))


def resample(figures, sizes, seed):
    """What scipy makes of figures of drawn units: its resampling, and its BCa. `sizes` are the numbers of units of the groups that are drawn apart."""
    # scipy's data are the units' numbers, so its resamples are the draws.
    data = tuple(np.arange(size) for size in sizes)
    generator = np.random.default_rng(seed)
    rows = list(zip(*[generator.integers(0, size, (DRAWS, size)) for size in sizes]))
    found = []
    for name, figure in figures.items():
        with np.errstate(all="ignore"):
            result = stats.bootstrap(data, figure, vectorized=False, n_resamples=DRAWS, method="BCa", rng=np.random.default_rng(seed))
        drawn = np.array([figure(*row) for row in rows])
        assert np.array_equal(drawn, result.bootstrap_distribution), "these are not scipy's draws"
        value = figure(*data)
        low, high, acceleration = _resampling._bca_interval(
            data, _resampling._vectorize_statistic(figure), axis=-1, alpha=0.025, theta_hat_b=drawn, batch=None, xp=np
        )
        # By design/statistics.md, which takes the units of both groups together for the acceleration; scipy takes each group about its own mean.
        without = np.array([figure(*[np.delete(units, unit) if at == group else units for at, units in enumerate(data)])
                            for group, size in enumerate(sizes) for unit in range(size)])
        # Differences of equal figures may differ by rounding; they are equal all the same.
        equal = np.abs(drawn - value) <= 1e-12
        z0 = stats.norm.ppf(((drawn[~equal] < value).sum() + equal.sum() / 2) / DRAWS)
        deviations = without.mean() - without
        a = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
        z = z0 + stats.norm.ppf([0.025, 0.975])
        corrected = stats.norm.cdf(z0 + z / (1 - a * z))
        ordered = np.sort(drawn)
        ends = lambda shares: [float(ordered[min(max(math.floor((DRAWS + 1) * share), 1), DRAWS) - 1]) for share in shares]
        found.append({
            "name": name, "value": float(value), "drawn": drawn.tolist(), "without": without.tolist(), "z0": float(z0), "acceleration": float(a),
            "shares": corrected.tolist(), "ends": ends(corrected), "percentile_ends": ends([0.025, 0.975]),
            "scipy": {"acceleration": float(acceleration), "shares": [float(low), float(high)], "ends": [float(end) for end in result.confidence_interval]},
        })
    times = [np.concatenate([np.bincount(row, minlength=size) for row, size in zip(each, sizes)]).tolist() for each in rows]
    return {"draws": times, "figures": found}


def bootstrap():
    rng = np.random.default_rng(13)
    # One group of 14 units with one to five trajectories each, and a second detector's value of each.
    units = np.repeat(np.arange(14), rng.integers(1, 6, 14))
    first, second = (rng.integers(0, 17, len(units)) / 16 for _ in range(2))
    one = Trajectories(units, first, second)
    over = lambda values: float((values >= 0.75).sum() / len(values))
    figures = {
        "mean": lambda drawn: float(one.drawn(drawn).sum() / len(one.drawn(drawn))),
        "median": lambda drawn: float(np.median(one.drawn(drawn))),
        "share": lambda drawn: over(one.drawn(drawn)),
        "difference of shares": lambda drawn: over(one.drawn(drawn)) - over(one.drawn(drawn, 1)),
    }
    groups = [{"name": "one group", "units": [units.tolist(), []], "values": [[first.tolist(), second.tolist()], []], **resample(figures, [14], 21)}]

    def two(name, positive, negative, sizes, paired, seed):
        """Two groups of trajectories with two values each."""
        values = [[rng.integers(low, low + 13, len(units)) / 16 for low in lows] for units, lows in [(positive, (4, 2)), (negative, (0, 0))]]
        sides = [Trajectories(units, *each) for units, each in zip((positive, negative), values)]
        # The same units are drawn for both groups, or each group's own.
        both = lambda drawn, which: [side.drawn(drawn[0 if paired else at], which) for at, side in enumerate(sides)]
        figures = {
            "auc": lambda *drawn: auc(*both(drawn, 0)),
            "difference of aucs": lambda *drawn: auc(*both(drawn, 0)) - auc(*both(drawn, 1)),
            "recall at .1": lambda *drawn: operating_point(*both(drawn, 0), 0.1)[2],
        }
        offset = 0 if paired else sizes[0]
        units = [np.array(positive).tolist(), (np.array(negative) + offset).tolist()]
        values = [[value.tolist() for value in each] for each in values]
        return {"name": name, "units": units, "values": values, **resample(figures, sizes, seed)}

    groups.append(two("two groups with the same units", np.repeat(np.arange(12), rng.integers(1, 4, 12)), np.arange(12).repeat(2), [12], True, 22))
    groups.append(two("two groups, as many units of one trajectory", np.arange(15), np.arange(15), [15, 15], False, 23))
    groups.append(two("two groups of clusters", np.repeat(np.arange(9), rng.integers(1, 4, 9)), np.repeat(np.arange(13), rng.integers(1, 5, 13)), [9, 13], False, 24))

    # All n^n samples of few units: what the draws of any generator come to.
    units, values = [0, 0, 1, 2, 2, 2, 3, 4], [0.25, 0.5, 1.0, 0.0, 0.125, 0.75, 0.5, 0.875]
    few = Trajectories(units, values)
    samples = [[few.drawn(np.array(sample)) for sample in itertools.product(range(5), repeat=5)]]
    means = sorted(float(sample.sum() / len(sample)) for sample in samples[0])
    pairs = Trajectories([0, 1, 2, 3, 4], [0.5, 0.25, 0.75, 0.5, 1.0]), Trajectories([0, 1, 2, 3, 4], [0.25, 0.5, 0.0, 0.5, 0.625])
    aucs = sorted(auc(*[side.drawn(np.array(sample)) for side in pairs]) for sample in itertools.product(range(5), repeat=5))
    distribution = lambda figures: [[value, len(list(same)) / 5**5] for value, same in itertools.groupby(figures)]
    all_samples = [
        {"name": "mean", "units": [units, []], "values": [values, []], "distribution": distribution(means)},
        {"name": "auc", "units": [[0, 1, 2, 3, 4]] * 2, "values": [side.values[0].tolist() for side in pairs], "distribution": distribution(aucs)},
    ]
    return {"groups": groups, "all_samples": all_samples}


# --- Permutations ----------------------------------------------------------------------------------------------------------------------------------------


def permutations():
    rng = np.random.default_rng(14)
    plain = lambda low, number: sixteenths(rng, low, low + 12, number)
    exact = []
    for positives, negatives in [(plain(6, 4), plain(0, 4)), (plain(2, 5), plain(0, 9)), (plain(0, 3), plain(4, 6)), ([1.0, 2.0], [0.0, 0.5])]:
        found = stats.permutation_test(
            (np.array(positives), np.array(negatives)), auc, permutation_type="independent", vectorized=False, n_resamples=np.inf, alternative="greater"
        )
        ways = math.comb(len(positives) + len(negatives), len(positives))
        assert len(found.null_distribution) == ways
        exact.append({"units": [[[value] for value in group] for group in (positives, negatives)], "auc": float(found.statistic), "p": float(found.pvalue),
                      "floor": 1 / ways, "arrangements": ways})
    # Units of several values: all choices of units, written out.
    units = [plain(3, size) for size in (3, 1, 4)] + [plain(0, size) for size in (2, 5, 1, 3, 2)]
    of = lambda chosen: auc(*[sum((unit for at, unit in enumerate(units) if (at in chosen) == side), []) for side in (True, False)])
    null = [of(chosen) for chosen in itertools.combinations(range(8), 3)]
    exact.append({"units": [units[:3], units[3:]], "auc": of((0, 1, 2)), "p": sum(value >= of((0, 1, 2)) for value in null) / len(null), "floor": 1 / 56,
                  "arrangements": 56})
    drawn = []
    for shift in (1.5, 4.5, 7.5):
        negatives = np.arange(20) * 2.0
        positives = np.arange(16) * 2.0 + shift + 4
        p = stats.mannwhitneyu(positives, negatives, alternative="greater", method="exact").pvalue
        drawn.append({"units": [[[value] for value in group.tolist()] for group in (positives, negatives)], "p": float(p)})
    return {"exact": exact, "drawn": drawn, "choose": [[n, k, math.comb(n, k)] for n, k in [(8, 4), (15, 6), (40, 3), (50, 25), (7, 0), (7, 7)]]}


# --- Files -----------------------------------------------------------------------------------------------------------------------------------------------


def spelled(fixture):
    """One line for each item of a list: short files whose changes can be read."""
    lists = [f"{json.dumps(key)}: [\n" + ",\n".join(json.dumps(item) for item in items) + "\n]" for key, items in fixture.items()]
    return "{\n" + ",\n".join(lists) + "\n}\n"


def differences(stored, computed, place):
    """Every number that is not the same to twelve digits, and everything else that is not the same."""
    if isinstance(stored, dict) and isinstance(computed, dict) and stored.keys() == computed.keys():
        for key in stored:
            yield from differences(stored[key], computed[key], f"{place}.{key}")
    elif isinstance(stored, list) and isinstance(computed, list) and len(stored) == len(computed):
        for at, (one, other) in enumerate(zip(stored, computed)):
            yield from differences(one, other, f"{place}[{at}]")
    elif isinstance(stored, (int, float)) and isinstance(computed, (int, float)):
        if not math.isclose(stored, computed, rel_tol=1e-12, abs_tol=1e-14):
            yield f"{place}: the file says {stored!r}, now it is {computed!r}"
    elif stored != computed:
        yield f"{place}: the file says {stored!r:.80}, now it is {computed!r:.80}"


def main():
    options = argparse.ArgumentParser(description="Fixtures of statistics from other software.")
    options.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    check = options.parse_args().check
    wrong = []
    for name, compute in {"ranks": ranks, "shares": shares, "bootstrap": bootstrap, "permutations": permutations}.items():
        path = FOLDER / f"{name}.json"
        # Through JSON, so that what is compared is what a file can hold.
        text = spelled(compute())
        if check:
            wrong += differences(json.loads(path.read_text()), json.loads(text), name)
        else:
            path.write_text(text)
    if wrong:
        sys.exit("\n".join(wrong[:40] + [f"{len(wrong)} differences; run reference.py without --check to write the files"]))
    print("testdata/statistics is what scipy, statsmodels and scikit-learn give" if check else f"wrote {FOLDER}")


if __name__ == "__main__":
    main()
