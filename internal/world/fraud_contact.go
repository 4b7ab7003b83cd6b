package world

import (
	"math"
)

var (
	buyerMails = newPalette(
		shade{"gmail.com", 0.39}, shade{"yahoo.com", 0.17}, shade{"", 0.16}, shade{"hotmail.com", 0.077}, shade{"anonymous.com", 0.063},
		shade{"aol.com", 0.048}, shade{"comcast.net", 0.013}, shade{"icloud.com", 0.011}, shade{"outlook.com", 0.009}, shade{"msn.com", 0.007},
		shade{"att.net", 0.007}, shade{"live.com", 0.005}, shade{"sbcglobal.net", 0.005}, shade{"verizon.net", 0.005}, shade{"ymail.com", 0.004},
		shade{"bellsouth.net", 0.004}, shade{"yahoo.com.mx", 0.004}, shade{"me.com", 0.004}, shade{"cox.net", 0.004})
	sellerMails = newPalette(
		shade{"gmail.com", 0.42}, shade{"hotmail.com", 0.2}, shade{"anonymous.com", 0.16}, shade{"yahoo.com", 0.08}, shade{"", 0.03},
		shade{"aol.com", 0.03}, shade{"outlook.com", 0.02}, shade{"comcast.net", 0.02}, shade{"yahoo.com.mx", 0.01}, shade{"icloud.com", 0.01},
		shade{"live.com", 0.01}, shade{"verizon.net", 0.01})
	lands = newPalette(shade{"87.0", 0.985}, shade{"60.0", 0.008}, shade{"96.0", 0.004}, shade{"102.0", 0.003})
)

// appendAddress appends addr1, addr2, dist1, dist2 and the two e-mail domains. Most purchases of product C come without
// address. Distances of the first kind are on product W; those of the second and the seller's e-mail domain are on the
// others.
func (r *fraudRow) appendAddress(b []byte) []byte {
	if r.product == "C" && r.is(0.95) {
		b = append(b, ",,"...)
	} else {
		b = addWhole(b, 100+int(300*math.Pow(r.uniform(), 3))*211%441)
		b = addText(b, lands.pick(&r.draws))
	}
	w := r.product == "W"
	b = r.appendDistance(b, w && r.is(0.51))
	b = r.appendDistance(b, !w && r.is(0.29))
	b = addText(b, buyerMails.pick(&r.draws))
	if w {
		return append(b, ',')
	}
	return addText(b, sellerMails.pick(&r.draws))
}

// appendDistance appends a distance that is roughly log-uniform with a long tail, or nothing.
func (r *fraudRow) appendDistance(b []byte, there bool) []byte {
	if !there {
		return append(b, ',')
	}
	u := r.uniform()
	return addWhole(b, int(math.Expm1(3.2*u+4.8*math.Pow(u, 12))))
}

var trueOrFalse = [2]string{"F", "T"}

// appendMatches appends M1 to M9. M4, M5 and M8 are three votes in the cell contact, votes of a coin in the cell
// without information, and empty elsewhere.
func (r *fraudRow) appendMatches(b []byte) []byte {
	w := r.product == "W"
	b = r.appendNames(b, w && r.is(0.6))
	votes := r.cell == cellContact || r.cell == cellNothing
	if votes {
		b = addText(b, [2]string{"M0", [2]string{"M1", "M2"}[r.below(2)]}[r.read(errVote)])
		b = addText(b, trueOrFalse[r.read(errVote)])
	} else {
		b = append(b, ",,"...)
	}
	b = r.appendFlag(b, w && r.is(0.91), 0.46)
	b = r.appendFlag(b, votes, 0.13)
	if votes {
		b = addText(b, trueOrFalse[r.read(errVote)])
	} else {
		b = append(b, ',')
	}
	return r.appendFlag(b, votes, 0.84)
}

// appendNames appends M1, M2 and M3, which are present or missing together.
func (r *fraudRow) appendNames(b []byte, there bool) []byte {
	b = r.appendFlag(b, there, 1)
	b = r.appendFlag(b, there, 0.9)
	return r.appendFlag(b, there, 0.78)
}

// appendFlag appends T with probability p, else F, or nothing.
func (r *fraudRow) appendFlag(b []byte, there bool, p float64) []byte {
	switch {
	case !there:
		return append(b, ',')
	case r.is(p):
		return append(b, ",T"...)
	}
	return append(b, ",F"...)
}
