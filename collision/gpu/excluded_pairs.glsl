// The table of excluded pairs: a power of two of buckets of four pairs of names; a pair lies in its own bucket or, where
// that is full, in the next one that is not. Behind it a word a bucket, of which a pair sets one bit: it answers for
// nearly all pairs that are not excluded. No name is EXCLUDED_NONE.
#define EXCLUDED_NONE 0xffffffffu
uint excluded_hash(uint a, uint b) {
    uint hash = a * 0x9e3779b1u;
    hash = (hash ^ hash >> 15) + b;
    hash *= 0x85ebca77u;
    hash = (hash ^ hash >> 13) * 0xc2b2ae3du;
    return hash ^ hash >> 16;
}
uint excluded_bit(uint hash) { return 1u << (hash >> 27); }
