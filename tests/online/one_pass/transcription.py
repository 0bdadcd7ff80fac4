"""The update rules once more: dense numpy, one row at a time, straight from the formulas.

Nothing here is shared with octavo. Covariances are plain matrices from which βΣx xᵀΣ is
subtracted; weights are plain arrays; nothing is scaled, factored or lazy.
"""

from decimal import Decimal, localcontext

import numpy as np
from scipy.stats import norm


class Outcome:
    """What a pass left behind."""

    def __init__(self, w, sigma, mistakes, updates):
        self.w, self.sigma, self.mistakes, self.updates = w, sigma, mistakes, updates


def shrink(sigma, x, beta, diag):
    """Return Σ - βΣx xᵀΣ, or its diagonal."""
    if diag:
        return sigma - beta * (sigma * x) ** 2
    image = sigma @ x
    return sigma - beta * np.outer(image, image)


def binary(name, X, y, diag=False, a=1.0, **p):
    """Run a binary rule over rows with labels ±1."""
    n, d = X.shape
    w, theta, u = np.zeros(d), np.zeros(d), np.zeros(d)
    sigma = a * (np.ones(d) if diag else np.eye(d))
    mistakes = updates = 0
    k, c_t = 1, p.get("c", 0.1)
    for t in range(1, n + 1):
        x, label = X[t - 1], y[t - 1]
        if name == "iellip" and t > 1:
            c_t *= p.get("b", 0.3)
        f, s = w @ x, x @ x
        image = sigma * x if diag else sigma @ x
        v = x @ image
        if name in ("sop", "narow"):  # θ and Σ, and a score after absorbing the row
            b = p.get("b", 1.0)
            beta = 1 / (1 + v)
            if name == "narow":
                beta = 1 / (v + v / (b * v - 1)) if v > 1 / b else 0.0
            after = shrink(sigma, x, beta, diag)
            f = theta @ (after * x if diag else after @ x)
        m = label * f
        wrong = (1 if f >= 0 else -1) != label
        mistakes += wrong
        if s == 0:
            continue
        hinge = max(0.0, 1 - m)
        if name == "perceptron" and wrong:
            w, updates = w + label * x, updates + 1
        elif name in ("romma", "aromma"):
            trigger = wrong if name == "romma" else hinge > 0
            if not trigger:
                continue
            if not w.any():
                w = label * x / (1.0 if p.get("first") == "example" else s)
            elif name == "aromma" and not p.get("legacy") and m >= s * (w @ w):
                w = label * x / s
            else:
                det = s * (w @ w) - f * f
                if det <= 1e-12 * s * (w @ w):
                    continue
                w = (s * (w @ w) - m) / det * w + (w @ w) * (label - f) / det * x
            updates += 1
        elif name == "alma":
            pp = p.get("p", 2)
            q = pp / (pp - 1)
            alpha = p.get("alpha", 0.9)
            x_hat = x / np.linalg.norm(x, pp)
            gamma = p.get("B", 1 / alpha) * np.sqrt(pp - 1) / np.sqrt(k)
            if (1 - alpha) * gamma - label * (w @ x_hat) > 0:
                eta = p.get("C", np.sqrt(2)) / (np.sqrt(pp - 1) * np.sqrt(k))
                size = np.linalg.norm(w, q)
                u = np.zeros(d)
                if size > 0:
                    u = np.sign(w) * np.abs(w) ** (q - 1) / size ** (q - 2)
                u = u + eta * label * x_hat
                size = np.linalg.norm(u, pp)
                w = np.sign(u) * np.abs(u) ** (pp - 1) / size ** (pp - 2)
                w = w / max(1.0, np.linalg.norm(w, q))
                k, updates = k + 1, updates + 1
        elif name == "ogd":
            eta, kind = p.get("C", 1.0) / np.sqrt(t), p.get("loss", "hinge")
            slope = {
                "hinge": float(m < 1),
                "zero_one": float(wrong),
                "log": 1 / (1 + np.exp(m)),
                "square": 1 - m,
            }[kind]
            w, updates = w + eta * slope * label * x, updates + (slope != 0)
        elif name in ("pa", "pa1", "pa2") and hinge > 0:
            big_c = p.get("C", 1.0)
            tau = {
                "pa": hinge / s,
                "pa1": min(big_c, hinge / s),
                "pa2": hinge / (s + 1 / (2 * big_c)),
            }[name]
            w, updates = w + tau * label * x, updates + 1
        elif name == "sop":
            if wrong:
                theta, updates = theta + label * x, updates + 1
            if wrong or p.get("update_on") == "all":
                sigma = after
            w = sigma * theta if diag else sigma @ theta
        elif name == "iellip" and wrong:
            g = label * x / np.sqrt(v)
            image = sigma * g if diag else sigma @ g
            w = w + (1 - m) / np.sqrt(v) * image
            sigma = shrink(sigma, g, c_t, diag) / (1 - c_t)
            updates += 1
        elif name in ("cw", "scw1", "scw2"):
            phi = norm.ppf(p["eta"])
            if phi * np.sqrt(v) - m <= 0:
                continue
            psi, xi = 1 + phi**2 / 2, 1 + phi**2
            if name == "scw2":
                nn = v + 1 / (2 * p["C"])
                root = phi**4 * m**2 * v**2 + 4 * nn * v * phi**2 * (nn + v * phi**2)
                if p.get("legacy"):
                    root = phi**4 * m**2 * v * 2 + 4 * nn * v * phi**2 * (nn + v * phi * 2)
                alpha = (-(2 * m * nn + phi**2 * m * v) + np.sqrt(root)) / (
                    2 * (nn**2 + nn * v * phi**2)
                )
                alpha = max(0.0, alpha)
            else:
                root = np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)
                alpha = max(0.0, (-m * psi + root) / (v * xi))
                alpha = min(p.get("C", np.inf), alpha)
            u_root = 0.5 * (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v))
            beta = alpha * phi / (u_root + alpha * phi * v)
            w = w + alpha * label * image
            sigma = shrink(sigma, x, beta, diag)
            updates += 1
        elif name == "arow" and hinge > 0:
            beta = 1 / (v + p.get("r", 1.0))
            w, sigma = w + hinge * beta * label * image, shrink(sigma, x, beta, diag)
            updates += 1
        elif name == "nherd" and hinge > 0:
            big_c = p.get("C", 1.0)
            beta = 1 / (v + 1 / big_c)
            w = w + hinge * beta * label * image
            sigma = shrink(sigma, x, beta**2 * (v + 2 / big_c), diag)
            updates += 1
        elif name == "narow_release" and hinge > 0:
            b = p.get("b", 1.0)
            r = v / (b * v - 1) if v > 1 / b else np.inf
            beta = 1 / (v + r)
            w, sigma = w + hinge * beta * label * image, shrink(sigma, x, beta, diag)
            updates += 1
        elif name == "narow" and hinge > 0:
            theta, sigma, updates = theta + label * x, after, updates + 1
            w = sigma * theta if diag else sigma @ theta
    return Outcome(w, sigma, mistakes, updates)


def multiclass(name, X, y, n_classes, diag=False, a=1.0, **p):
    """Run a multiclass rule over rows with labels 0, 1, ..."""
    n, d = X.shape
    W = np.zeros((n_classes, d))
    sigma = a * (np.ones(d) if diag else np.eye(d))
    mistakes = updates = 0
    for t in range(1, n + 1):
        x, label = X[t - 1], y[t - 1]
        F, s = W @ x, x @ x
        wrong = np.argmax(F) != label
        mistakes += wrong
        if s == 0:
            continue
        others = F.copy()
        others[label] = -np.inf
        rival = int(np.argmax(others))
        m = F[label] - F[rival]
        hinge = max(0.0, 1 - m)
        image = sigma * x if diag else sigma @ x
        v = x @ image
        if name.startswith("perceptron"):
            if not wrong:
                continue
            above = [k for k in range(n_classes) if F[k] > F[label]]
            share = {} if p.get("legacy") and name != "perceptron_max" else {rival: 1.0}
            if above and name.endswith("uniform"):
                share = {k: 1 / len(above) for k in above}
            elif above and name.endswith("proportional"):
                total = sum(F[k] - F[label] for k in above)
                share = {k: (F[k] - F[label]) / total for k in above}
            W[label] += x
            for k, part in share.items():
                W[k] -= part * x
            updates += 1
            continue
        if name in ("romma", "aromma"):
            if not (wrong if name == "romma" else hinge > 0):
                continue
            size = np.sum(W**2)
            direction = np.zeros_like(W)
            direction[label], direction[rival] = x, -x
            if size == 0:
                W = direction / (1.0 if p.get("first") == "example" else 2 * s)
            elif name == "aromma" and not p.get("legacy") and m >= 2 * s * size:
                W = direction / (2 * s)
            else:
                det = 2 * s * size - m**2
                if det <= 1e-12 * 2 * s * size:
                    continue
                keep, step = (2 * s * size - m) / det, size * (1 - m) / det
                if p.get("legacy"):
                    W[[label, rival]] *= keep
                else:
                    W = W * keep
                W = W + step * direction
            updates += 1
            continue
        if name == "ogd":
            slope = {
                "hinge": float(m < 1),
                "zero_one": float(wrong),
                "log": 1 / (1 + np.exp(m)),
                "square": 1 - m,
            }[p.get("loss", "hinge")]
            tau, beta, moved = p.get("C", 1.0) / np.sqrt(t) * slope, 0.0, x
            fire = slope != 0
        elif name in ("pa", "pa1", "pa2"):
            big_c = p.get("C", 1.0)
            tau = {
                "pa": hinge / (2 * s),
                "pa1": min(big_c, hinge / (2 * s)),
                "pa2": hinge / (2 * s + 1 / (2 * big_c)),
            }[name]
            beta, moved, fire = 0.0, x, hinge > 0
        elif name == "arow":
            beta = 1 / (v + p.get("r", 1.0))
            tau, moved, fire = hinge * beta, image, hinge > 0
        else:
            phi, release = norm.ppf(p["eta"]), p.get("legacy", False)
            fire, moved = m < phi * np.sqrt(v if release else 2 * v), image
            psi = 1 + phi**2 / 2
            zeta = psi if release else 1 + phi**2 / 4
            if name == "scw2":
                nn = 2 * v + 1 / (2 * p["C"])
                root = phi**4 * m**2 * v**2 + 8 * nn * v * phi**2 * (nn + v * phi**2)
                tau = (-(2 * m * nn + phi**2 * m * v) + np.sqrt(root)) / (
                    2 * (nn**2 + nn * v * phi**2)
                )
            else:
                root = m**2 * zeta**2 - psi * (m**2 - 2 * v * phi**2)
                tau = (-m * zeta + np.sqrt(max(root, 0.0))) / (2 * v * psi)
            tau = min(max(0.0, tau), p.get("C", np.inf) if name == "scw1" else np.inf)
            deviation = 0.5 * (-tau * v * phi + np.sqrt(tau**2 * v**2 * phi**2 + 8 * v))
            beta = tau * phi / (deviation + tau * phi * v)
        if fire:
            W[label] += tau * moved
            W[rival] -= tau * moved
            sigma = shrink(sigma, x, beta, diag)
            updates += 1
    return Outcome(W, sigma, mistakes, updates)


def exact_multiclass_cw(X, y, n_classes, eta, digits):
    """Return the mistakes and updates of multiclass CW in decimal arithmetic."""
    with localcontext() as context:
        context.prec = digits
        phi = Decimal(float(norm.ppf(eta)))
        psi, zeta = 1 + phi**2 / 2, 1 + phi**2 / 4
        d = X.shape[1]
        W = [[Decimal(0)] * d for _ in range(n_classes)]
        sigma = [[Decimal(int(i == j)) for j in range(d)] for i in range(d)]
        mistakes = updates = 0
        for row, label in zip(X, y, strict=True):
            x = [Decimal(float(value)) for value in row]
            F = [sum(a * b for a, b in zip(w, x, strict=True)) for w in W]
            mistakes += max(range(n_classes), key=lambda k: (F[k], -k)) != label
            others = [k for k in range(n_classes) if k != label]
            rival = max(others, key=lambda k: (F[k], -k))
            m = F[label] - F[rival]
            image = [sum(a * b for a, b in zip(line, x, strict=True)) for line in sigma]
            v = sum(a * b for a, b in zip(image, x, strict=True))
            if m >= phi * (2 * v).sqrt():
                continue
            root = (m * m * zeta * zeta - psi * (m * m - 2 * v * phi * phi)).sqrt()
            alpha = (root - m * zeta) / (2 * v * psi)
            reach = alpha * v * phi
            beta = alpha * phi / (((reach * reach + 8 * v).sqrt() - reach) / 2 + reach)
            for j in range(d):
                W[label][j] += alpha * image[j]
                W[rival][j] -= alpha * image[j]
            for i in range(d):
                for j in range(d):
                    sigma[i][j] -= beta * image[i] * image[j]
            updates += 1
        return mistakes, updates
