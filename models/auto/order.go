package auto

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/seeded"
)

// order are training rows in an order that depends only on what they say: the order of a table's rows, which differs
// between an import and an append, must change neither folds nor fits.
type order struct {
	rows  []int    // of the tensor
	keys  []uint64 // hashes of what they say, different also for rows that say the same
	place []int    // of each, its number among the training rows in the order of the tensor
}

// orderOf sorts rows by their hashes. Of rows that say the same, the order of their groups, and then of their ids, decides
// which has which of their hashes, which changes nothing that is learned from them.
func orderOf(t *costs.Tensor, rows []int) order {
	keys := make([]uint64, len(rows))
	var text []byte
	for i, n := range rows {
		text = said(t, n, text[:0])
		sum := sha256.Sum256(text)
		keys[i] = binary.BigEndian.Uint64(sum[:8])
	}
	place := make([]int, len(rows))
	for i := range place {
		place[i] = i
	}
	slices.SortFunc(place, func(a, b int) int {
		group := 0
		if t.Groups != nil {
			group = cmp.Compare(t.Groups[rows[a]], t.Groups[rows[b]])
		}
		return cmp.Or(cmp.Compare(keys[a], keys[b]), group, cmp.Compare(t.IDs[rows[a]], t.IDs[rows[b]]))
	})
	own, same := slices.Clone(keys), uint64(0) // earlier rows that say the same
	for at, i := range place {
		if at > 0 && keys[i] == keys[place[at-1]] {
			same++
			own[i] = seeded.Source(keys[i], "auto/same", same).Uint64()
		} else {
			same = 0
		}
	}
	// Rows that say the same must not follow each other: of rows with the same features, neighbours are the first ones.
	slices.SortStableFunc(place, func(a, b int) int { return cmp.Compare(own[a], own[b]) })
	o := order{place: place}
	for _, i := range place {
		o.rows, o.keys = append(o.rows, rows[i]), append(o.keys, own[i])
	}
	return o
}

// said appends what row n says: features, losses, fees and time. Every NaN, and both zeros, are the same.
func said(t *costs.Tensor, n int, text []byte) []byte {
	pairs := t.Actions.Len()
	for _, column := range [][]float32{t.Row(n), t.Losses(n), measured(t.Fee, n, pairs)} {
		for _, v := range column {
			switch {
			case v != v:
				v = float32(math.NaN())
			case v == 0:
				v = 0
			}
			text = binary.LittleEndian.AppendUint32(text, math.Float32bits(v))
		}
	}
	if t.Times != nil {
		text = binary.LittleEndian.AppendUint64(text, uint64(t.Times[n]))
	}
	return text
}

func measured(fees []float32, n, pairs int) []float32 {
	if fees == nil {
		return nil
	}
	return fees[n*pairs : (n+1)*pairs]
}

// shuffled are the positions of rows in the order of a draw. It follows from the seed and from what each row says, so
// new rows leave the others in their order.
func shuffled(keys []uint64, seed uint64, draw int) []int {
	purpose := fmt.Sprintf("auto/divide %d", draw)
	out, rank := make([]int, len(keys)), make([]uint64, len(keys))
	for i, key := range keys {
		out[i], rank[i] = i, seeded.Source(seed, purpose, key).Uint64()
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	return out
}
