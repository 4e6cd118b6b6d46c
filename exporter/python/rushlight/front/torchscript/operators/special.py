# Follows aten/src/ATen/native/Math.h. The coefficients are those of Cephes.


def as_floating_point(x):
    return x if torch.is_floating_point(x) else x.to(torch.float32)


def at_least_float32(x):
    """Returns the dtype in which halves are computed."""
    at = as_floating_point(x)
    return at if at.dtype == torch.float64 else at.to(torch.float32)


def as_result_dtype(y, x):
    return y.to(as_floating_point(x).dtype)


def polynomial(x, coefficients: List[float]):
    y = torch.full_like(x, coefficients[0])
    for k in range(1, len(coefficients)):
        y = y * x + coefficients[k]
    return y


def chebyshev_series(x, coefficients: List[float]):
    b0 = torch.full_like(x, coefficients[0])
    b1, b2 = torch.zeros_like(x), torch.zeros_like(x)
    for k in range(1, len(coefficients)):
        b2, b1 = b1, b0
        b0 = x * b1 - b2 + coefficients[k]
    return (b0 - b2) * 0.5


def set_where(condition, x, value: float):
    """Returns x with `value` where the condition is true."""
    return torch.masked_fill(x, condition, value)


def bessel_large_x(x, order: int, second: bool):
    """Returns j0, j1, y0 or y1 for x above 5, by order and kind."""
    z = 25.0 / (x * x) if order == 0 else 5.0 / x * (5.0 / x)
    if order == 0:
        p = polynomial(z, [0.0007969367292973471, 0.08283523921074408, 1.239533716464143, 5.447250030587687, 8.74716500199817, 5.303240382353949, 1.0]) / polynomial(z, [0.0009244088105588637, 0.08562884743544745, 1.2535274390105895, 5.470977403304171, 8.761908832370695, 5.306052882353947, 1.0])
        q = polynomial(z, [-0.011366383889846916, -1.2825271867050931, -19.553954425773597, -93.20601521237683, -177.68116798048806, -147.07750515495118, -51.41053267665993, -6.050143506007285]) / polynomial(z, [64.3178256118178, 856.4300259769806, 3882.4018360540163, 7240.467741956525, 5930.727011873169, 2062.0933166032783, 242.0057402402914])
        at = x - 0.7853981633974483
    else:
        p = polynomial(z, [0.0007621256162081731, 0.07313970569409176, 1.1271960812968493, 5.112079511468076, 8.424045901417724, 5.214515986823615, 1.0]) / polynomial(z, [0.0005713231280725487, 0.06884559087544954, 1.105142326340617, 5.073863861286015, 8.399855543276042, 5.209828486823619, 1.0])
        q = polynomial(z, [0.05108625947501766, 4.982138729512334, 75.82382841325453, 366.7796093601508, 710.8563049989261, 597.4896124006136, 211.68875710057213, 25.207020585802372]) / polynomial(z, [74.23732770356752, 1056.4488603826283, 4986.410583376536, 9562.318924047562, 7997.041604473507, 2826.1927851763908, 336.0936078106983])
        at = x - 2.356194490192345
    if second:
        y = p * torch.sin(at) + 5.0 / x * q * torch.cos(at)
    else:
        y = p * torch.cos(at) - 5.0 / x * q * torch.sin(at)
    return y * 0.7978845608028654 / torch.sqrt(x)


def j0(given):
    x = torch.abs(given)
    z = x * x
    near = (z - 5.783185962946784) * (z - 30.471262343662087) * polynomial(z, [-4794432209.782018, 1956174919465.5657, -249248344360967.72, 9708622510473064.0]) / polynomial(z, [499.563147152651, 173785.4016763747, 48440965.83399621, 11185553704.535683, 2112775201154.892, 310518229857422.56, 3.1812195594320496e+16, 1.7108629408104315e+18])
    near = torch.where(x < 0.00001, 1.0 - z / 4.0, near)
    return torch.where(x <= 5.0, near, bessel_large_x(x, 0, False))


def j1(given):
    x = torch.abs(given)
    z = x * x
    near = polynomial(z, [-899971225.7055594, 452228297998.19403, -72749424522181.83, 3682957328638529.0]) / polynomial(z, [620.8364781180543, 256987.25675774884, 83514679.14319493, 22151159547.97925, 4749141220799.914, 784369607876235.9, 8.952223361846274e+16, 5.322786203326801e+18]) * x * (z - 14.681970642123893) * (z - 49.2184563216946)
    y = torch.where(x <= 5.0, near, bessel_large_x(x, 1, False))
    return torch.where(given < 0, -y, y)


def with_pole_at_zero(x, y):
    """Makes a function with a pole -inf at 0, and NaN below it."""
    return set_where(x < 0, set_where(x == 0, y, -float("inf")), float("nan"))


def special_bessel_j0(x):
    return as_result_dtype(j0(at_least_float32(x)), x)


def special_bessel_j1(x):
    return as_result_dtype(j1(at_least_float32(x)), x)


def special_bessel_y0(given):
    x = at_least_float32(given)
    z = x * x
    near = polynomial(z, [15592.436785523574, -14663929.59039716, 5435264770.518765, -982136065717.9115, 87590639439536.7, -3466283033847297.0, 4.4273326857256984e+16, -1.8495080043698668e+16]) / polynomial(z, [1041.2835366425984, 626107.330137135, 268919633.39381415, 86400248710.3935, 20297961275010.555, 3171577528429750.5, 2.5059625617265306e+17]) + 0.6366197723675814 * torch.log(x) * j0(x)
    return as_result_dtype(with_pole_at_zero(x, torch.where(x <= 5.0, near, bessel_large_x(x, 0, True))), given)


def special_bessel_y1(given):
    x = at_least_float32(given)
    z = x * x
    near = x * (polynomial(z, [1263204747.9017804, -647355876379.1603, 114509511541823.73, -8127702555013251.0, 2.024394757135949e+17, -7.788771962659501e+17]) / polynomial(z, [594.3015923461282, 235564.09294306856, 73481194.44597217, 18760131610.870617, 3882312774962.3857, 620557727146953.8, 6.871410873553005e+16, 3.9727060811656064e+18])) + 0.6366197723675814 * (j1(x) * torch.log(x) - 1.0 / x)
    return as_result_dtype(with_pole_at_zero(x, torch.where(x <= 5.0, near, bessel_large_x(x, 1, True))), given)


def special_airy_ai(given):
    x = at_least_float32(given)
    below = torch.clamp_max(x, -2.09)
    root = torch.sqrt(-below)
    t = -2.0 * below * root / 3.0
    z = 1.0 / t
    zz = z * z
    f = 1.0 + zz * polynomial(zz, [-0.1316963234183318, -0.6264565444319123, -0.6931580360369335, -0.2797799815451191, -0.04919001326095003, -0.004062659235948854, -0.0001592764962392621, -2.776491081552329e-06, -1.6778769848911465e-08]) / polynomial(zz, [13.356042070655324, 32.682503279522464, 26.736704094149957, 9.187074029072596, 1.4752914677166642, 0.11568717379518804, 0.004402916416152112, 7.547203482874142e-05, 4.5185009297058035e-07])
    g = z * polynomial(zz, [0.01973399320916857, 0.39110302961568827, 1.0657989759959559, 0.9391692298166502, 0.35146565610554764, 0.06338889196289255, 0.005858041130483885, 0.000282851600836737, 6.98793669997261e-06, 8.117892395543892e-08, 3.415517847659236e-10]) / polynomial(zz, [9.30892908077442, 19.835292871831214, 15.564662893286462, 5.476860694229755, 0.9542936116189619, 0.08645808263523921, 0.004126565238242226, 0.00010125908511650914, 1.1716673321441352e-06, 4.9183457006293e-09])
    t = t + 0.25 * 3.141592653589793
    far_below = 0.5641895835477563 / torch.sqrt(root) * (torch.sin(t) * f - torch.cos(t) * g)
    above = torch.clamp_min(x, 2.09)
    zeta = 2.0 * above * torch.sqrt(above) / 3.0
    u = 1.0 / zeta
    far_above = 0.5641895835477563 * (polynomial(u, [0.346538101525629, 12.007595273964581, 76.27960536152345, 168.08922493463058, 159.75639135016442, 70.53609068404442, 14.026469116338967, 1.0]) / polynomial(u, [0.5675945326387702, 14.75625625848472, 84.51389701414746, 177.31808814540045, 164.2346928715297, 71.47784008255756, 14.095913560783403, 1.0])) / (2.0 * torch.sqrt(torch.sqrt(above)) * torch.exp(zeta))
    middle = torch.clamp(x, -2.09, 2.09)
    f, g, k = torch.ones_like(x), middle, 1.0
    m, n, z = torch.ones_like(x), middle, middle * middle * middle
    for _ in range(30):
        m = m * z / (k + 1.0)
        n = n * z / (k + 2.0)
        m = m / (k + 2.0)
        k += 3.0
        f = f + m
        n = n / k
        g = g + n
    y = 0.3550280538878172 * f - 0.2588194037927968 * g
    y = torch.where(x < -2.09, far_below, torch.where(x >= 2.09, far_above, y))
    y = set_where(x > 103.892, y, 0.0)
    return as_result_dtype(set_where(torch.isinf(x), torch.where(torch.isnan(x), x, y), float("nan")), given)


def i0e(given):
    x = torch.abs(given)
    near = chebyshev_series(x / 2.0 - 2.0, [-4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15, -1.1685332877993451e-14, 7.676185498604936e-14, -4.856446783111929e-13, 2.95505266312964e-12, -1.726826291441556e-11, 9.675809035373237e-11, -5.189795601635263e-10, 2.6598237246823866e-09, -1.300025009986248e-08, 6.046995022541919e-08, -2.670793853940612e-07, 1.1173875391201037e-06, -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165, -0.0005763755745385824, 0.0016394756169413357, -0.004324309995050576, 0.010546460394594998, -0.02373741480589947, 0.04930528423967071, -0.09490109704804764, 0.17162090152220877, -0.3046826723431984, 0.6767952744094761])
    far = chebyshev_series(32.0 / x - 2.0, [-7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17, -2.8276239805165836e-16, -3.425485619677219e-16, 1.7725601330565263e-15, 3.8116806693526224e-15, -9.554846698828307e-15, -4.150569347287222e-14, 1.54008621752141e-14, 3.8527783827421426e-13, 7.180124451383666e-13, -1.7941785315068062e-12, -1.3215811840447713e-11, -3.1499165279632416e-11, 1.1889147107846439e-11, 4.94060238822497e-10, 3.3962320257083865e-09, 2.266668990498178e-08, 2.0489185894690638e-07, 2.8913705208347567e-06, 6.889758346916825e-05, 0.0033691164782556943, 0.8044904110141088]) / torch.sqrt(x)
    return torch.where(x <= 8.0, near, far)


def i1e(given):
    x = torch.abs(given)
    near = chebyshev_series(x / 2.0 - 2.0, [2.7779141127610464e-18, -2.111421214358166e-17, 1.5536319577362005e-16, -1.1055969477353862e-15, 7.600684294735408e-15, -5.042185504727912e-14, 3.223793365945575e-13, -1.9839743977649436e-12, 1.1736186298890901e-11, -6.663489723502027e-11, 3.625590281552117e-10, -1.8872497517228294e-09, 9.381537386495773e-09, -4.445059128796328e-08, 2.0032947535521353e-07, -8.568720264695455e-07, 3.4702513081376785e-06, -1.3273163656039436e-05, 4.781565107550054e-05, -0.00016176081582589674, 0.0005122859561685758, -0.0015135724506312532, 0.004156422944312888, -0.010564084894626197, 0.024726449030626516, -0.05294598120809499, 0.1026436586898471, -0.17641651835783406, 0.25258718644363365]) * x
    far = chebyshev_series(32.0 / x - 2.0, [7.517296310842105e-18, 4.414348323071708e-18, -4.6503053684893586e-17, -3.209525921993424e-17, 2.96262899764595e-16, 3.3082023109209285e-16, -1.8803547755107825e-15, -3.8144030724370075e-15, 1.0420276984128802e-14, 4.272440016711951e-14, -2.1015418427726643e-14, -4.0835511110921974e-13, -7.198551776245908e-13, 2.0356285441470896e-12, 1.4125807436613782e-11, 3.2526035830154884e-11, -1.8974958123505413e-11, -5.589743462196584e-10, -3.835380385964237e-09, -2.6314688468895196e-08, -2.512236237870209e-07, -3.882564808877691e-06, -0.00011058893876262371, -0.009761097491361469, 0.7785762350182801]) / torch.sqrt(x)
    y = torch.where(x <= 8.0, near, far)
    return torch.where(given < 0, -y, y)


def special_i0e(x):
    return as_result_dtype(i0e(at_least_float32(x)), x)


def special_i1e(x):
    return as_result_dtype(i1e(at_least_float32(x)), x)


def i1(x):
    return i1e(x) * torch.exp(torch.abs(x))


def special_i1(x):
    return as_result_dtype(i1(at_least_float32(x)), x)


def special_modified_bessel_i0(x):
    at = at_least_float32(x)
    return as_result_dtype(i0e(at) * torch.exp(torch.abs(at)), x)


def special_modified_bessel_i1(x):
    return as_result_dtype(i1(at_least_float32(x)), x)


def modified_k(given, order: int, scaled: bool):
    x = at_least_float32(given)
    z, far = x * x - 2.0, 8.0 / x - 2.0
    if order == 0:
        near = chebyshev_series(z, [1.374465435613523e-16, 4.25981614279661e-14, 1.0349695257633842e-11, 1.904516377220209e-09, 2.5347910790261494e-07, 2.286212103119452e-05, 0.001264615411446926, 0.0359799365153615, 0.3442898999246285, -0.5353273932339028]) - torch.log(0.5 * x) * (i0e(x) * torch.exp(torch.abs(x)))
        away = chebyshev_series(far, [5.300433772686263e-18, -1.6475804301524212e-17, 5.2103915050390274e-17, -1.678231096805412e-16, 5.512055978524319e-16, -1.848593377343779e-15, 6.3400764774050706e-15, -2.2275133269916698e-14, 8.032890775363575e-14, -2.9800969231727303e-13, 1.140340588208475e-12, -4.514597883373944e-12, 1.8559491149547177e-11, -7.957489244477107e-11, 3.577397281400301e-10, -1.69753450938906e-09, 8.574034017414225e-09, -4.660489897687948e-08, 2.766813639445015e-07, -1.8317555227191195e-06, 1.39498137188765e-05, -0.00012849549581627802, 0.0015698838857300533, -0.0314481013119645, 2.4403030820659555]) / torch.sqrt(x)
    else:
        near = torch.log(0.5 * x) * i1(x) + chebyshev_series(z, [-7.023863479386288e-18, -2.427449850519366e-15, -6.666901694199329e-13, -1.4114883926335278e-10, -2.213387630734726e-08, -2.4334061415659684e-06, -0.0001730288957513052, -0.006975723859639864, -0.12261118082265715, -0.3531559607765449, 1.5253002273389478]) / x
        away = chebyshev_series(far, [-5.756744483665017e-18, 1.7940508731475592e-17, -5.689462558442859e-17, 1.838093544366639e-16, -6.057047248373319e-16, 2.038703165624334e-15, -7.019837090418314e-15, 2.4771544244813043e-14, -8.976705182324994e-14, 3.3484196660784293e-13, -1.2891739609510289e-12, 5.13963967348173e-12, -2.1299678384275683e-11, 9.218315187605006e-11, -4.1903547593418965e-10, 2.015049755197033e-09, -1.0345762465678097e-08, 5.7410841254500495e-08, -3.5019606030878126e-07, 2.406484947837217e-06, -1.936197974166083e-05, 0.00019521551847135162, -0.002857816859622779, 0.10392373657681724, 2.7206261904844427]) / torch.sqrt(x)
    y = torch.where(x <= 2.0, near * torch.exp(x) if scaled else near, away if scaled else torch.exp(-x) * away)
    return as_result_dtype(-with_pole_at_zero(x, -y), given)


def special_modified_bessel_k0(x):
    return modified_k(x, 0, False)


def special_modified_bessel_k1(x):
    return modified_k(x, 1, False)


def special_scaled_modified_bessel_k0(x):
    return modified_k(x, 0, True)


def special_scaled_modified_bessel_k1(x):
    return modified_k(x, 1, True)


def special_spherical_bessel_j0(given):
    x = at_least_float32(given)
    series = polynomial(x * x, [1.6059043836821613e-10, -2.505210838544172e-08, 2.7557319223985893e-06, -0.0001984126984126984, 0.008333333333333333, -0.16666666666666666, 1.0])
    y = torch.where(torch.abs(x) < 0.5, series, torch.sin(x) / x)
    return as_result_dtype(set_where(torch.isinf(x), y, 0.0), given)


def special_ndtr(x):
    return (1.0 + torch.erf(as_floating_point(x) / 1.4142135623730951)) * 0.5


def special_log_ndtr(given):
    x = at_least_float32(given)
    t = x * 0.7071067811865476
    below = torch.log(special_erfcx(-torch.clamp_max(t, 0.0)) / 2) - t * t
    return as_result_dtype(torch.where(x < -1.0, below, torch.log1p(-torch.erfc(t) / 2)), given)


def special_ndtri(given):
    y0 = at_least_float32(given)
    far = y0 > 1.0 - 0.1353352832366127
    y = torch.where(far, 1.0 - y0, y0)
    offset = y - 0.5
    squares = offset * offset
    middle = (offset + offset * (squares * polynomial(squares, [-59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968, -1.2391658386738125]) / polynomial(squares, [1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905, -225.46268785411937, 200.26021238006066, -82.03722561683334, 15.90562251262117, -1.1833162112133]))) * 2.5066282746310002
    x = torch.sqrt(-2.0 * torch.log(y))
    z = 1.0 / x
    one = z * polynomial(z, [4.0554489230596245, 31.525109459989388, 57.16281922464213, 44.08050738932008, 14.684956192885803, 2.1866330685079025, -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854]) / polynomial(z, [1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672, 15.04253856929075, 2.504649462083094, -0.14218292285478779, -0.03808064076915783, -0.0009332594808954574])
    two = z * polynomial(z, [3.2377489177694603, 6.915228890689842, 3.9388102529247444, 1.3330346081580755, 0.20148538954917908, 0.012371663481782003, 0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09]) / polynomial(z, [1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132, 0.21623699359449663, 0.013420400608854318, 0.00032801446468212774, 2.8924786474538068e-06, 6.790194080099813e-09])
    tail = x - torch.log(x) / x - torch.where(x < 8.0, one, two)
    out = torch.where(y > 0.1353352832366127, middle, torch.where(far, tail, -tail))
    out = set_where(y0 == 0.0, set_where(y0 == 1.0, out, float("inf")), -float("inf"))
    return as_result_dtype(set_where(torch.logical_or(torch.isnan(y0), torch.logical_or(y0 < 0, y0 > 1)), out, float("nan")), given)


def special_erfcx(given):
    """Returns exp(x^2) erfc(x). Where erfc is small, 60 terms of a continued fraction are exact to the last digit."""
    x = at_least_float32(given).to(torch.float64)
    far = torch.clamp_min(x, 2.0)
    k = far
    for n in range(60, 0, -1):
        k = far + n * 0.5 / k
    y = torch.where(x < 2.0, torch.exp(x * x) * torch.erfc(x), 0.5641895835477563 / k)
    return as_result_dtype(y, given)


def zeta_of(given, other):
    """Returns Hurwitz's zeta function by the Euler-Maclaurin formula."""
    x, q = given, other
    s = torch.pow(q, -x)
    a = q
    b = torch.zeros_like(s)
    done = torch.zeros_like(s, dtype=torch.bool)
    i = 0
    more = True
    while more:
        i += 1
        active = torch.logical_and(torch.logical_not(done), torch.logical_or(torch.full_like(a, i, dtype=torch.int64) <= 9, a <= 9.0))
        a = torch.where(active, a + 1.0, a)
        b = torch.where(active, torch.pow(a, -x), b)
        s = torch.where(active, s + b, s)
        small = torch.logical_and(b < s * 1.1102230246251565e-16, b > s * -1.1102230246251565e-16)
        done = torch.logical_or(done, torch.logical_and(active, small))
        more = bool(torch.any(active))
    w = a
    s = torch.where(done, s, s + b * w / (x - 1.0) - b * 0.5)
    factor = torch.ones_like(s)
    k = 0.0
    for d in [12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1892437580.3183792, 74724249600.0, -2950130727918.164, 116467828143500.67, -4597978722407472.6, 1.8152105401943546e17, -7.166165256175667e18]:
        factor = factor * (x + k)
        b = b / w
        t = factor * b / d
        s = torch.where(done, s, s + t)
        done = torch.logical_or(done, torch.abs(t / s) < 1.1102230246251565e-16)
        k += 1.0
        factor = factor * (x + k)
        b = b / w
        k += 1.0
    whole = torch.logical_and(q <= 0, q == torch.floor(q))
    s = set_where(torch.logical_and(q <= 0, x != torch.floor(x)), s, float("nan"))
    s = set_where(whole, s, float("inf"))
    s = set_where(x < 1.0, s, float("nan"))
    return set_where(x == 1.0, s, float("inf"))


def result_float_dtype(x, other):
    """Returns the floating-point dtype of both tensors."""
    return as_floating_point(torch.zeros([0], dtype=torch.result_type(x, other))).dtype


def to_float_of(x, dtype: int):
    return x.to(torch.float64 if dtype == torch.float64 else torch.float32)


def special_zeta(x, other):
    dtype = result_float_dtype(x, other)
    return zeta_of(x.to(torch.float64), other.to(torch.float64)).to(dtype)


def special_zeta__other_scalar(x, other: number):
    return special_zeta(x, torch.full([], other, dtype=as_floating_point(x).dtype))


def special_zeta__self_scalar(x: number, other):
    return special_zeta(torch.full([], x, dtype=as_floating_point(other).dtype), other)


def trigamma(given):
    x = torch.where(given < 0.5, 1 - given, given)
    s = torch.sin(given * 3.141592653589793)
    y = torch.where(given < 0.5, -9.869604401089358 / (s * s), torch.zeros_like(x))
    for _ in range(6):
        y = y + 1 / (x * x)
        x = x + 1
    ixx = 1 / (x * x)
    y = y + (1 + 1 / (2 * x) + ixx * (0.16666666666666666 - ixx * (0.03333333333333333 - ixx * 0.023809523809523808))) / x
    return torch.where(given < 0.5, -y, y)


def polygamma(n: int, x):
    assert n >= 0, "polygamma(n, x) does not support negative n."
    if n == 0:
        return torch.digamma(x)
    at = at_least_float32(x)
    if n == 1:
        return as_result_dtype(trigamma(at), x)
    y = zeta_of(torch.full_like(at, n + 1, dtype=torch.float64), at.to(torch.float64)).to(at.dtype) * torch.exp(torch.lgamma(torch.full_like(at, n + 1.0)))
    return as_result_dtype(y if n % 2 == 1 else -y, x)


def polygamma_(x, n: int):
    assert torch.is_floating_point(x), "result type Float can't be cast to the desired output type Long"
    return x.copy_(polygamma(n, x))


def special_polygamma(n: int, x):
    return polygamma(n, x)


def gamma_series(a, x):
    """Returns P(a, x) for x up to a, in float64."""
    term = 1.0 / a
    total, r = term, a
    more = True
    while more:
        r = r + 1.0
        term = term * (x / r)
        total = total + term
        more = bool(torch.any(torch.abs(term) > torch.abs(total) * 1.1e-16))
    return total * torch.exp(a * torch.log(x) - x - torch.lgamma(a))


def gamma_fraction(a, x):
    """Returns Q(a, x) for x above a by Lentz's continued fraction, in float64."""
    b = x + 1.0 - a
    c = torch.full_like(b, 1e300)
    d = 1.0 / b
    h = d
    i = 0.0
    more = True
    while more:
        i += 1.0
        an = (a - i) * i
        b = b + 2.0
        d = b + an * d
        d = 1.0 / torch.where(torch.abs(d) < 1e-300, torch.full_like(d, 1e-300), d)
        c = b + an / c
        c = torch.where(torch.abs(c) < 1e-300, torch.full_like(c, 1e-300), c)
        h = h * (d * c)
        more = bool(torch.any(torch.abs(d * c - 1.0) > 2.3e-16)) and i < 100000.0
    return h * torch.exp(a * torch.log(x) - x - torch.lgamma(a))


def incomplete_gamma(given_a, given_x, upper: bool):
    dtype = result_float_dtype(given_a, given_x)
    pair = torch.broadcast_tensors([given_a.to(torch.float64), given_x.to(torch.float64)])
    a, x = pair[0], pair[1]
    usual = torch.logical_and(torch.logical_and(a > 0, x > 0), torch.logical_and(torch.isfinite(a), torch.isfinite(x)))
    below = torch.logical_and(usual, x <= torch.clamp_min(a, 1.0))
    above = torch.logical_and(usual, torch.logical_not(below))
    ones = torch.ones_like(a)
    p = gamma_series(torch.where(below, a, ones), torch.where(below, x, ones))
    q = gamma_fraction(torch.where(above, a, ones), torch.where(above, x, ones * 2))
    if upper:
        y = torch.where(below, 1.0 - p, q)
    else:
        y = torch.where(below, p, 1.0 - q)
    at_zero, at_infinity = (1.0, 0.0) if upper else (0.0, 1.0)
    y = set_where(torch.logical_or(torch.isnan(a), torch.isnan(x)), y, float("nan"))
    y = set_where(torch.isinf(x), y, at_infinity)
    y = set_where(torch.isinf(a), y, at_zero)
    y = set_where(torch.logical_and(torch.isinf(a), torch.isinf(x)), y, float("nan"))
    y = set_where(x == 0, y, at_zero)
    y = set_where(torch.logical_and(a == 0, x > 0), y, at_infinity)
    y = set_where(torch.logical_and(a == 0, torch.logical_not(x > 0)), y, float("nan"))
    return set_where(torch.logical_or(a < 0, x < 0), y, float("nan")).to(dtype)


def igamma(x, other):
    return incomplete_gamma(x, other, False)


def igammac(x, other):
    return incomplete_gamma(x, other, True)


def special_gammainc(x, other):
    return incomplete_gamma(x, other, False)


def special_gammaincc(x, other):
    return incomplete_gamma(x, other, True)
