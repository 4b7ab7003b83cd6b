package costs

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
)

// Cost returns what action i costs on instance n in the regime lambda: task
// loss, fees and the measured fee. It is +Inf where the action is unavailable.
func (t *Tensor) Cost(n, i int, lambda float64) float64 {
	return t.cost(n, i, t.Actions.fee(i, lambda))
}

// cost adds a fee that the caller has computed. An unavailable action has a NaN
// loss.
func (t *Tensor) cost(n, i int, fee float64) float64 {
	c := float64(t.Losses(n)[i])
	if math.IsNaN(c) {
		return math.Inf(1)
	}
	return c + t.MeasuredFee(n, i) + fee
}

// MeasuredFee returns the measured fee of action i on instance n: 0 if the tensor has no measured fees, NaN where it is not known.
func (t *Tensor) MeasuredFee(n, i int) float64 {
	if t.Fee == nil {
		return 0
	}
	return float64(t.Fee[n*t.Actions.Len()+i])
}

// Costs writes the costs of instance n in the regime lambda to dst, one per
// action, and returns it; it allocates if dst is too short. Unavailable actions
// cost +Inf.
func (t *Tensor) Costs(dst []float64, n int, lambda float64) []float64 {
	a := t.Actions.Len()
	if cap(dst) < a {
		dst = make([]float64, a)
	}
	dst = dst[:a]
	for i := range dst {
		dst[i] = t.Cost(n, i, lambda)
	}
	return dst
}

// TrueLoss returns the mean realised cost of the executed pairs: actions[m] is
// what is done on instance rows[m]. It is NaN for no rows and +Inf if an
// unavailable action is executed. The slices must be of equal length.
func (t *Tensor) TrueLoss(rows, actions []int, lambda float64) float64 {
	if len(rows) != len(actions) {
		panic("costs: TrueLoss needs one action per row")
	}
	fees := t.Actions.Fees(lambda)
	sum := 0.0
	for m, n := range rows {
		sum += t.cost(n, actions[m], fees[actions[m]])
	}
	return sum / float64(len(rows))
}

// Digest returns the sha256, in hexadecimal, of everything but Meta, of which
// only the blocks of features count. Two tensors with the same digest train the
// same policies.
func (t *Tensor) Digest() string {
	h := sha256.New()
	hashBytes(h, "actions", t.Actions.JSON())
	hashStrings(h, "id", t.IDs)
	splits := make([]byte, len(t.Splits))
	for i, s := range t.Splits {
		splits[i] = byte(s)
	}
	hashBytes(h, "split", splits)
	if t.Groups != nil { // without groups the digest is the same as before groups were introduced
		hashStrings(h, "group", t.Groups)
	}
	if t.Times != nil { // likewise
		hashTimes(h, "time", t.Times)
	}
	hashStrings(h, "label", t.Labels)
	hashStrings(h, "prediction", t.Predictions)
	hashFloats(h, "features", t.Features)
	hashFloats(h, "loss", t.Loss)
	hashFloats(h, "fee", t.Fee)
	for q, values := range t.Usage {
		if values != nil { // likewise
			hashFloats(h, Quantity(q).String(), values)
		}
	}
	if t.Propensity != nil { // likewise
		hashDoubles(h, colPropensity, t.Propensity)
	}
	for _, f := range t.Facts { // likewise
		hashFact(h, f)
	}
	if blocks := BlocksText(t.Blocks()); blocks != "" { // likewise
		hashBytes(h, "blocks", []byte(blocks))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashFact hashes what is known. Values that do not occur do not count.
func hashFact(h hash.Hash, f Facts) {
	if f.Category() {
		f = f.used()
		hashStrings(h, f.Column()+" values", f.Values)
	}
	hashFloats(h, f.Column(), f.Data)
}

// hashBytes writes name, length and content, so that no two fields can be
// confused.
func hashBytes(h hash.Hash, name string, b []byte) {
	hashLen(h, name, len(b))
	h.Write(b)
}

func hashLen(h hash.Hash, name string, n int) {
	h.Write([]byte(name))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func hashStrings(h hash.Hash, name string, values []string) {
	hashLen(h, name, len(values))
	var buf []byte
	for _, s := range values {
		buf = binary.LittleEndian.AppendUint32(buf, uint32(len(s)))
		buf = append(buf, s...)
		if len(buf) > 1<<16 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
}

func hashTimes(h hash.Hash, name string, values []int64) {
	hashLen(h, name, len(values))
	buf := make([]byte, 0, 8*len(values))
	for _, v := range values {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(v))
	}
	h.Write(buf)
}

func hashDoubles(h hash.Hash, name string, values []float64) {
	hashLen(h, name, len(values))
	buf := make([]byte, 0, 8*len(values))
	for _, v := range values {
		if v != v {
			v = math.NaN() // whatever its bits in the file
		}
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(v))
	}
	h.Write(buf)
}

func hashFloats(h hash.Hash, name string, values []float32) {
	hashLen(h, name, len(values))
	buf := make([]byte, 0, 1<<16)
	for _, v := range values {
		bits := math.Float32bits(v)
		if v != v {
			bits = 0x7fc00000 // all NaN are hashed alike, whatever their bits in the file
		}
		buf = binary.LittleEndian.AppendUint32(buf, bits)
		if len(buf) == cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
}
