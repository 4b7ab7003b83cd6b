package outcome

import (
	"slices"

	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// keys numbers the texts of one column of a table. A text that the table keeps
// in a dictionary, or repeats from row to row, is looked up once.
type keys struct {
	names      *textfile.Names
	at         int // position of the column
	column     *tablefile.Column
	dictionary tablefile.Dictionary
	known      []int32 // number+1 of the texts of the dictionary, after that of a missing one; 0 where it is not known
	distinct   []int32 // rows of the batch whose text is not that of the row before
	found      []int32 // without a dictionary: numbers of the texts of the batch, -1 where one had none before
	row        int     // of the batch, the last one that was looked up
	number     int     // of its text
}

// open is called for every batch of the table.
func (k *keys) open(b *tablefile.Batch) {
	k.column, k.row, k.number = &b.Columns[k.at], -2, -1
	d := k.column.Dictionary()
	if d != k.dictionary {
		k.dictionary, k.known = d, nil
	}
	switch {
	case d.Len() == 0:
		k.findAll(b.Rows)
	case k.known == nil:
		k.known = make([]int32, d.Len()+1)
	}
}

// findAll looks up the texts of a batch, each row of equal texts once.
func (k *keys) findAll(rows int) {
	k.found = slices.Grow(k.found[:0], rows)[:rows]
	k.distinct = k.distinct[:0]
	for row := range rows {
		if !k.column.Repeats(row) {
			k.distinct = append(k.distinct, int32(row))
		}
	}
	numbers := k.found[:len(k.distinct)]
	k.names.FindAll(numbers, func(i int) string { return k.column.Text(int(k.distinct[i])) })
	end := rows
	for i, first := range slices.Backward(k.distinct) { // from behind, so that no number is overwritten before it is copied
		number := numbers[i]
		for row := int(first); row < end; row++ {
			k.found[row] = number
		}
		end = int(first)
	}
}

// find returns the number of the text in a row, -1 if it has none yet. A missing
// text is "".
func (k *keys) find(r tablefile.Row) int {
	row := r.Number()
	n := k.before(row)
	if n < 0 {
		n = k.names.Find(k.column.Text(row))
		k.keep(row, n)
	}
	return n
}

// add is find for a text that gets a number if it has none. Its error is that of
// textfile.MemoryBudget.Add.
func (k *keys) add(r tablefile.Row) (n int, err error) {
	row := r.Number()
	if n = k.before(row); n < 0 {
		if n, err = k.names.Add(k.column.Text(row)); err != nil {
			return 0, err
		}
		k.keep(row, n)
	}
	return n, nil
}

// before returns the number of the text in a row if it was looked up before, else
// -1.
func (k *keys) before(row int) int {
	if k.known != nil {
		return int(k.known[k.column.Code(row)+1]) - 1
	}
	if n := k.found[row]; n >= 0 {
		return int(n)
	}
	if k.number < 0 || k.row != row-1 || !k.column.Repeats(row) {
		return -1
	}
	k.row = row
	return k.number
}

// keep remembers the number of the text in a row.
func (k *keys) keep(row, number int) {
	k.row, k.number = row, number
	if k.known != nil {
		k.known[k.column.Code(row)+1] = int32(number + 1)
	}
}
