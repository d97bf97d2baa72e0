/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of kmod/ring.c: one CPU whose task is interrupted by an interrupt and an NMI, which
 * nest, and a reader on another CPU, which may stop for good anywhere. Two sub-buffers of three
 * places; a record takes one or two of them. Each step is one access to what others see.
 *
 * OVERWRITE chooses the mode. BUG chooses one thing to do wrong; each must be found:
 *	1 a record is committed before its data is there
 *	2 a loss is counted in each try, not once
 *	3 the counter is read once, before the tries
 *	4 the oldest is taken away after the head moved, not before
 *	5 the units before a sub-buffer are told without looking whether the head is still there
 *	6 what was lost is read after the head moved
 *	7 the reader gets a sub-buffer before its open bytes are set back to all
 *	8 a sub-buffer is closed after its padding was committed
 *	9 an open sub-buffer is taken for a free one
 *	10 the reader believes what it copied without asking whether it was overwritten
 *	11 what is lost is counted while others may still be stored behind it untold
 *	12 what a sub-buffer tells of losses is written without looking whether the head is there
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef OVERWRITE
#define OVERWRITE 0
#endif
#ifndef TASK
#define TASK 2		/* records of the task */
#endif
#ifndef IRQ
#define IRQ 1		/* of the interrupt: a flush or a record each */
#endif
#ifndef NMI
#define NMI 1
#endif

#ifndef READS
#define READS 2		/* tries of the reader while there are writers */
#endif

#define SUBS 2
#define SIZE 3
#define PLACES 6	/* SUBS * SIZE */
#define NUMBERS 12	/* sub-buffers that there can be in all */

typedef sub_t {
	byte num;	/* its state, a word: which sub-buffer lies here, */
	bit whole;	/* and whether it waits for the reader */
	byte open;	/* places that are not committed yet */
	byte base;
	byte told;	/* lost, and told by records up to its first one */
	byte says;	/* what that record, if there is one, tells */
	byte content, units, lost;
};

sub_t sub[SUBS];
byte hpos, hcnt;	/* the head, a word */
byte lost, over;
byte data[PLACES];	/* 1 + position of what was written there last */

byte level;		/* of nesting: 0 the task runs, 1 the interrupt, 2 the NMI */
byte done;		/* contexts that are at their end */

/* what an observer knows */
byte stored;		/* records; also the counter: what matters is who comes before whom */
byte refused;
byte loses;		/* contexts that are about to count a loss, or to end a sub-buffer for it */
byte upto[NUMBERS];	/* records stored up to the end of sub-buffer i */

/* what a reader was given so far */
byte tail, got, told, said;

#define OFF(p) ((p) % SIZE)
#define AT(p) (((p) / SIZE) % SUBS)
#define SAME (hpos == old && hcnt == cnt)
#define RETRY(x) if :: BUG == 2 -> lost++ :: else fi

/* @y places of sub-buffer @x are committed. */
inline commit_sub(x, y)
{
	atomic { sub[x].open = sub[x].open - (y); last = (sub[x].open == 0) };
	if
	:: last && BUG == 7 ->
		sub[x].whole = 1;
		sub[x].open = SIZE
	:: last && BUG != 7 ->
		sub[x].open = SIZE;
		sub[x].whole = 1
	:: else
	fi
}

inline close_sub(x, y, z)
{
	atomic {
		sub[x].content = y; sub[x].units = z;
		if :: BUG == 6 -> sub[x].lost = lost :: else -> sub[x].lost = seen fi
	}
}

/* The head goes to the end of its sub-buffer; @rc 0: done, 1: it was moved. */
inline shut()
{
	seen = lost;
	atomic {
		if
		:: SAME -> hpos = old + SIZE - OFF(old); rc = 0
		:: else -> rc = 1
		fi
	};
	if
	:: rc == 0 && BUG != 8 ->
		close_sub(AT(old), OFF(old), cnt);
		commit_sub(AT(old), SIZE - OFF(old))
	:: rc == 0 && BUG == 8 ->
		commit_sub(AT(old), SIZE - OFF(old));
		close_sub(AT(old), OFF(old), cnt)
	:: else
	fi
}

/* The oldest sub-buffer, which lies at @i, becomes free, if it still is what was seen. */
inline take_away()
{
	atomic {
		if
		:: sub[i].num == num && sub[i].whole == whole ->
			sub[i].num = num + SUBS; sub[i].whole = 0; took = 1
		:: else -> took = 0
		fi
	};
	if
	:: took -> over = over + n
	:: else
	fi
}

/* Sub-buffer @next may be written: 0 yes, 2 no. */
inline make_room()
{
	i = AT(next);
	atomic { num = sub[i].num; whole = sub[i].whole };
	n = sub[i].units;
	if
	:: !whole && num == next / SIZE -> rc = 0
	:: !whole && num != next / SIZE && BUG == 9 -> rc = 0
	:: !whole && num != next / SIZE && BUG != 9 -> rc = 2
	:: whole && (num + SUBS != next / SIZE || !OVERWRITE) -> rc = 2
	:: whole && num + SUBS == next / SIZE && OVERWRITE && BUG != 4 ->
		take_away();
		rc = 0
	:: whole && num + SUBS == next / SIZE && OVERWRITE && BUG == 4 -> rc = 0
	fi
}

/* What is stored before sub-buffer @i, and what is lost before it. */
inline tell_start()
{
	tell_base();
	if
	:: rc == 0 ->
		seen = lost;
		was = sub[i].told;
		say = seen - sub[AT(next + PLACES - 1)].told;
		if
		:: BUG == 12 -> skip
		:: BUG != 12 && !SAME -> rc = 1
		:: else
		fi;
		if
		:: rc == 0 && was != seen ->
			atomic {
				if
				:: sub[i].told == was || BUG == 12 -> sub[i].told = seen
				:: else -> rc = 1
				fi
			}
		:: else
		fi
	:: else
	fi
}

inline tell_base()
{
	was = sub[i].base;
	n2 = sub[AT(next + PLACES - 1)].base + cnt;
	if
	:: BUG == 5 -> skip
	:: BUG != 5 && !SAME -> rc = 1
	:: else
	fi;
	if
	:: rc == 0 && was != n2 ->
		atomic {
			if
			:: sub[i].base == was -> sub[i].base = n2
			:: else -> rc = 1
			fi
		}
	:: else
	fi
}

/*
 * The head into the next sub-buffer and @take places on, 0: to its end, behind a place for what was
 * lost; 0: done, 1: it was moved, 2: no room.
 */
inline enter(take)
{
	make_room();
	if :: rc == 0 -> tell_start() :: else fi;
	if
	:: rc == 0 ->
		u = (take != 0) + (say != 0);
		if :: take -> end = take + (say != 0) :: else -> end = SIZE fi;
		if :: BUG != 3 -> time = stored :: else fi;
		atomic {
			if
			:: SAME ->
				assert(next < NUMBERS * SIZE);
				hpos = next + end; hcnt = u; stored = stored + u;
				upto[next / SIZE] = stored;
				if
				:: take -> assert(time + u == stored)
				:: else
				fi
			:: else -> rc = 1
			fi
		};
		if
		:: rc == 0 && BUG == 4 && whole -> take_away()
		:: else
		fi;
		if
		:: rc == 0 ->
			atomic {
				sub[AT(next)].says = say;
				if :: say -> data[next % PLACES] = next + 1 :: else fi
			}
		:: else
		fi;
		if
		:: rc == 0 && end == SIZE ->
			if
			:: take -> close_sub(AT(next), SIZE, u)
			:: else -> close_sub(AT(next), (say != 0), u)
			fi
		:: else
		fi;
		if
		:: rc == 0 && OFF(old) && BUG != 8 ->
			close_sub(AT(old), OFF(old), cnt);
			commit_sub(AT(old), SIZE - OFF(old))
		:: rc == 0 && OFF(old) && BUG == 8 ->
			commit_sub(AT(old), SIZE - OFF(old));
			close_sub(AT(old), OFF(old), cnt)
		:: else
		fi;
		if
		:: rc == 0 && take && say -> commit_sub(AT(next), 1)
		:: else
		fi
	:: else
	fi
}

/* Whatever is stored next begins a sub-buffer. */
inline end_sub()
{
	do
	::
		atomic { old = hpos; cnt = hcnt };
		if
		:: OFF(old) == 0 -> rc = 0
		:: else -> shut()
		fi;
		if :: rc == 1 -> skip :: else -> break fi
	od
}

inline lose()
{
	if :: BUG != 11 -> end_sub() :: else fi;
	atomic { lost++; refused++; loses++ };
	if :: BUG != 11 -> end_sub() :: else fi;
	loses--
}

inline reserve()
{
	if :: BUG == 3 -> time = stored :: else fi;
	do
	::
		atomic { old = hpos; cnt = hcnt; next = old };
		if
		:: OFF(old) && OFF(old) + size <= SIZE ->
			seen = lost;
			if :: BUG != 3 -> time = stored :: else fi;
			atomic {
				if
				:: SAME ->
					assert(time == stored);
					/* what was lost before is told before */
					assert(loses || sub[AT(old - 1)].told == lost);
					hpos = old + size; hcnt = cnt + 1; stored++;
					upto[old / SIZE] = stored; place = old; rc = 0
				:: else -> rc = 1
				fi
			};
			if
			:: rc == 0 && OFF(old) + size == SIZE ->
				close_sub(AT(old), SIZE, cnt + 1)
			:: else
			fi
		:: else ->
			if :: OFF(old) -> next = old + SIZE - OFF(old) :: else fi;
			enter(size);
			place = next + (say != 0)
		fi;
		if
		:: rc == 1 -> RETRY(0)
		:: else -> break
		fi
	od;
	if
	:: rc == 2 -> lose(); rc = 2
	:: else
	fi
}

inline write()
{
	reserve();
	if
	:: rc == 0 && BUG == 1 ->
		commit_sub(AT(place), size);
		data[place % PLACES] = place + 1;
		if :: size == 2 -> data[(place + 1) % PLACES] = place + 2 :: else fi
	:: rc == 0 && BUG != 1 ->
		data[place % PLACES] = place + 1;
		if :: size == 2 -> data[(place + 1) % PLACES] = place + 2 :: else fi;
		commit_sub(AT(place), size)
	:: else
	fi
}

inline flush()
{
	do
	::
		atomic { old = hpos; cnt = hcnt; next = old };
		if
		:: OFF(old) -> shut()
		:: else ->
			n = sub[AT(old + PLACES - 1)].told;
			if
			:: n == lost -> rc = 0
			:: else ->
				enter(0);
				if
				:: rc == 0 -> commit_sub(AT(next), SIZE)
				:: else
				fi
			fi
		fi;
		if :: rc == 1 -> skip :: else -> break fi
	od
}

#define LOCALS byte size, old, cnt, next, seen, time, place, rc, i, num, n, n2, was, say, u, end; \
	bit whole, last, took

/* Process 1 is the task, 2 the interrupt, 3 the NMI: one runs only if none above it does. */
proctype context(byte todo) provided (level < _pid)
{
	LOCALS;
	byte from;

	do
	:: todo ->
		todo--;
		atomic { from = level; level = _pid - 1 };
		if :: size = 1 :: size = 2 :: _pid == 2 -> size = 0 fi;
		if :: size -> write() :: else -> flush() fi;
		level = from
	:: else -> break
	od;
	done++
}

byte copy[SIZE];

/* The oldest whole sub-buffer, or the end of what can be read now. */
inline read_one()
{
	do
	::
		i = tail % SUBS;
		atomic { num = sub[i].num; whole = sub[i].whole };
		if
		:: num != tail -> tail = num - SUBS + 1
		:: else -> break
		fi
	od;
	if
	:: !whole -> some = 0
	:: else ->
		some = 1;
		atomic {
			c = sub[i].content; u = sub[i].units; l = sub[i].lost; b = sub[i].base;
			t = sub[i].says; copy[0] = data[i * SIZE]
		};
		atomic { copy[1] = data[i * SIZE + 1]; copy[2] = data[i * SIZE + 2] };
		atomic {
			tail++;
			if
			:: (sub[i].num == num && sub[i].whole) || BUG == 10 ->
				sub[i].num = num + SUBS; sub[i].whole = 0;
				/* all that was committed, and nothing of another sub-buffer */
				assert(c <= SIZE);
				assert(c < 1 || copy[0] == num * SIZE + 1);
				assert(c < 2 || copy[1] == num * SIZE + 2);
				assert(c < 3 || copy[2] == num * SIZE + 3);
				assert(b + u == upto[num]);
				assert(l >= told);
				/* lost up to the sub-buffer before, and no more than up to here */
				assert(OVERWRITE || (said + t >= told && said + t <= l));
				got = got + u; told = l; said = said + t
			:: else -> assert(OVERWRITE)
			fi;
			copy[0] = 0; copy[1] = 0; copy[2] = 0
		}
	fi
}

proctype reader()
{
	LOCALS;
	byte c, l, b, k, t;
	bit some;

	/* for as long as it likes */
	do
	:: k < READS ->
		(done == 3 || sub[0].whole || sub[1].whole);
		k++;
		read_one()
	:: break
	od;
	atomic {
		done == 3;
		/* another one comes later, when nobody writes */
		do
		:: read_one(); if :: !some -> break :: else fi
		od;
		flush();
		assert(rc == 0);
		do
		:: read_one(); if :: !some -> break :: else fi
		od;
		assert(lost == refused && told == lost);
		assert(OVERWRITE || said == lost);
		assert(stored == got + over)
	}
}

/* @p places are in use: records of one place each, none read. */
init
{
	byte p, q;

	atomic {
#ifdef START
		p = START;
#else
		select(p : 0 .. 6);
#endif
		sub[0].num = 0; sub[0].open = SIZE;
		sub[1].num = 1; sub[1].open = SIZE;
		do
		:: q < p ->
			sub[AT(q)].open = sub[AT(q)].open - 1;
			data[q] = q + 1;
			q++;
			hcnt = (q - 1) % SIZE + 1;
			upto[(q - 1) / SIZE] = q;
			if
			:: OFF(q) == 0 ->
				sub[AT(q - 1)].open = SIZE; sub[AT(q - 1)].whole = 1;
				sub[AT(q - 1)].content = SIZE; sub[AT(q - 1)].units = SIZE
			:: OFF(q) == 1 && q > 1 -> sub[1].base = SIZE
			:: else
			fi
		:: else -> break
		od;
		hpos = p; stored = p;
		run context(TASK); run context(IRQ); run context(NMI); run reader()
	}
}
