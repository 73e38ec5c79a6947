/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file conf.h
 * One model of a configuration, whatever it was read from. Pure: no communication.
 */
#ifndef WIO_CPL_CONF_H
#define WIO_CPL_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coupler/base.h"

enum wio_cpl_log { WIO_CPL_SILENT, WIO_CPL_WHISPER, WIO_CPL_LOUD };
/** Files of h3-Open-UTIL/MP (logs.h): what log and debug ask for; none; those, too, that it always
 * wrote. */
enum wio_cpl_files { WIO_CPL_FILES_NONE = -1, WIO_CPL_FILES_ASKED, WIO_CPL_FILES_ALL };

/** When a put travels: to the receiver's step that begins then (-1), at once (0), to the step that
 * ends then (1, the receiver runs after the sender). Others: see struct wio_cpl_link. */
enum { WIO_CPL_LAG_PARALLEL = -1, WIO_CPL_LAG_NOW = 0, WIO_CPL_LAG_SERIAL = 1 };

/** What becomes of the puts of an interval: the last one, their mean weighted by time, their sum,
 * the least, the greatest. */
enum wio_cpl_reduce { WIO_CPL_LAST, WIO_CPL_MEAN, WIO_CPL_SUM, WIO_CPL_LEAST, WIO_CPL_GREATEST };
/** What travels, and what a program may put and get: a real variable as real8 or real4. */
enum wio_cpl_type { WIO_CPL_REAL8, WIO_CPL_REAL4, WIO_CPL_INT };
/** A receive point some of whose sources are masked: the sum of the others, scaled as if all were
 * there; the fill value; the sum of the others as it is. */
enum wio_cpl_masked { WIO_CPL_MASKED_SCALE, WIO_CPL_MASKED_FILL, WIO_CPL_MASKED_PART };
/** Which side remaps: the one where less travels, the sender where it can, the receiver. */
enum wio_cpl_side { WIO_CPL_SIDE_AUTO, WIO_CPL_SIDE_SEND, WIO_CPL_SIDE_RECEIVE };

/** Tags of the exchange above this one mean vectors: layers k and k + layers/2 are turned. */
enum { WIO_CPL_VECTOR_TAG = 10000 };

/** What a receiver makes of the members of an ensemble. */
enum wio_cpl_stat {
    WIO_CPL_STAT_NONE,
    WIO_CPL_STAT_MEAN,
    WIO_CPL_STAT_SPREAD,
    WIO_CPL_STAT_MIN,
    WIO_CPL_STAT_MAX,
    WIO_CPL_STAT_QUANTILE
};
struct wio_cpl_statistic {
    enum wio_cpl_stat kind;
    double quantile; /**< 0 to 1 */
};
/** Read 'mean', 'spread', 'min', 'max', 'median', or a quantile, 'q0.9'. @return false: none */
bool wio_cpl_statistic_read(const char *text, struct wio_cpl_statistic *out);

/**
 * One variable's way from a grid of one component to a grid of another. Texts are owned. Zero is
 * the default of all that a file need not say, but for lag (-1) and layers (1).
 *
 * The receiver's step that begins at T gets what was put up to T + D: D = (lag + 1) intervals for a
 * lag below 0, lag intervals for one above, or shift seconds. For every file format: readers fill
 * this, and nothing else in the coupler knows what they read.
 */
struct wio_cpl_link {
    char *comp_put, *comp_get, *grid_put, *grid_get, *var_put, *var_get;
    int64_t interval; /**< seconds between two exchanges; 0: none given, which lag 0 allows */
    int lag;          /**< 0: at once, at each put and get; else see above */
    bool has_shift;   /**< D is shift, and lag does not count */
    int64_t shift;    /**< seconds */
    enum wio_cpl_reduce reduce; /**< of several puts; WIO_CPL_LAST when at once */
    enum wio_cpl_type type;
    enum wio_cpl_masked masked;
    enum wio_cpl_side side;
    bool has_fill; /**< else WIO_CPL_FILL, and 0 in receive points without entries when at once */
    double fill;   /**< of receive points without entries; puts of this value count nothing */
    char *bundle;  /**< lag 0: those of one name travel together; NULL: alone */
    int layers;
    int tag; /**< exchange tag; above WIO_CPL_VECTOR_TAG a vector */
    /** It is the first component of a vector, whose second is the variable of this var_get between
     * the same components (conf_vector.c); NULL: it is not. */
    char *vector_with;
    int mapping_tag; /**< which table of the two grids; 0: the only one */
    /** Where the table comes from when no program gives it; at most one of the two, else NULL:
     * a netCDF weight file, or methods as wio_weights_read_text() reads them. All links of one
     * table have the same. */
    char *weight_file, *weight_method;
    struct wio_cpl_statistic statistic; /**< of the members of an ensemble that puts */
    int line;                           /**< where it stands in the file */
};

/** What the file says of a component, or of all members of an ensemble. Namelists may say what
 * happens when it fails (&h3ou_component), and nothing else. */
struct wio_cpl_part {
    char *name;
    int64_t step;  /**< seconds; 0: not given */
    int processes; /**< 0: not given */
    bool may_fail; /**< the others go on without it (on_failure) */
    bool rejoin;   /**< the others wait until it was started again */
    int line;
    bool has_grids, has_puts, has_gets;    /**< were the lists given? */
    struct wio_cpl_list grids, puts, gets; /**< char *, owned */
};

/** Something wrong in the file, or doubtful. */
struct wio_cpl_fault {
    char *text; /**< with file, line and column */
    int line, column;
    bool warning;
};

/** Restart files. */
struct wio_cpl_restart_conf {
    char *file;       /**< what their names begin with; NULL: none */
    int64_t interval; /**< seconds between two; 0: none are written */
    bool read;        /**< go on from the latest */
};

struct wio_cpl_conf {
    char *file; /**< its name, for errors */
    enum wio_cpl_log log;
    bool debug;
    enum wio_cpl_files files;
    char *report;  /**< file for the report at the end; NULL: none */
    int stop_step; /**< 0, or where the run stops */
    struct wio_cpl_restart_conf restart;
    struct wio_cpl_list links;  /**< struct wio_cpl_link */
    struct wio_cpl_list parts;  /**< struct wio_cpl_part, in the order of the file */
    bool has_start;             /**< is the date of the first step given? */
    int start[6];               /**< year, month, day, hour, minute, second */
    int64_t length;             /**< seconds from start to stop; 0: not given */
    bool yaml;                  /**< read from YAML, else from namelists */
    struct wio_cpl_list faults; /**< struct wio_cpl_fault: all that is wrong, in order */
    bool broken;                /**< links or components are missing because of faults */
};

/** The i-th link. */
struct wio_cpl_link *wio_cpl_conf_link(const struct wio_cpl_conf *conf, size_t i);
/** The i-th component that the file tells of. */
struct wio_cpl_part *wio_cpl_conf_part(const struct wio_cpl_conf *conf, size_t i);
/** The one of that name. @return NULL: the file tells nothing of it */
struct wio_cpl_part *wio_cpl_conf_find(const struct wio_cpl_conf *conf, const char *name);
/** Add what is known of a component: that it has this grid. @return 0; NOMEM */
int wio_cpl_conf_tell(struct wio_cpl_conf *conf, const char *component, const char *grid);
/** Does it travel at once, at each put and get? */
bool wio_cpl_link_now(const struct wio_cpl_link *link);
/** Seconds from a receiver's step to what it gets (D above); 0 when at once. */
int64_t wio_cpl_link_shift(const struct wio_cpl_link *link);
/** The value that counts nothing, and that points without entries get. */
double wio_cpl_link_fill(const struct wio_cpl_link *link);
/** A link like @p model between other components, at the end of @p links. */
int wio_cpl_conf_copy_link(struct wio_cpl_list *links, const struct wio_cpl_link *model,
                           const char *comp_put, const char *comp_get);
void wio_cpl_conf_free_links(struct wio_cpl_list *links);
/** Free what it holds. */
void wio_cpl_conf_free(struct wio_cpl_conf *conf);

/**
 * Remember a fault; reading goes on, so that all faults are found at once.
 * @param column 0: unknown @param format what is wrong; file, line and column are put before it
 * @return 0; NOMEM
 */
int wio_cpl_conf_fault(struct wio_cpl_conf *conf, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/** The same for what is doubtful and no error. */
int wio_cpl_conf_warn(struct wio_cpl_conf *conf, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Make a fault of this thread's last error, whose text names its place itself. */
int wio_cpl_conf_keep(struct wio_cpl_conf *conf, int line);
/** @return 0; CONFIG, with the first fault that is an error, and how many more there are */
int wio_cpl_conf_verdict(const struct wio_cpl_conf *conf);

/** Write " (did you mean 'x'?)" if one of @p n words is near @p word, else "". */
const char *wio_cpl_near(const char *word, const char *const *words, size_t n, char out[96]);

/**
 * Read coupling.conf: the namelists h3ou_coupling and h3ou_var.
 * @param[out] conf to be freed with wio_cpl_conf_free(), also after an error
 * @return 0; CONFIG with the first fault, and all in conf->faults; NOMEM
 */
int wio_cpl_conf_namelist(const char *text, size_t bytes, const char *file,
                          struct wio_cpl_conf *conf);

/** The same of YAML. @return as there; UNSUPPORTED: built without libyaml */
int wio_cpl_conf_yaml(const char *text, size_t bytes, const char *file, struct wio_cpl_conf *conf);

/** One of them, for a file. YAML is what ends in .yaml or .yml, or has a line that begins with
 * "couplings:" or "components:". @return as there; SYSTEM when it cannot be read */
int wio_cpl_conf_read(const char *file, struct wio_cpl_conf *conf);

/** Write a configuration as YAML. @param[out] text char; not ended by a zero byte. @return 0;
 * NOMEM */
int wio_cpl_conf_write(const struct wio_cpl_conf *conf, struct wio_cpl_list *text);

/** A key of one of the formats, for the reference. */
struct wio_cpl_key {
    const char *place, *name;  /**< where it stands, and its name */
    const char *value, *usual; /**< what it takes; its default */
    const char *means;
};
/** The i-th key of YAML, of the namelists. @return NULL: there are no more */
const struct wio_cpl_key *wio_cpl_yaml_key(size_t i);
const struct wio_cpl_key *wio_cpl_namelist_key(size_t i);

/**
 * What is wrong with the links whatever the programs do: a name received from two sides, different
 * layers of one put, names and steps that do not fit what the file says of the components, and lags
 * by which components wait for each other for ever (deadlock.c). All of it goes to conf->faults.
 * @return 0; CONFIG with the first; NOMEM
 */
int wio_cpl_conf_check(struct wio_cpl_conf *conf);

/** How many seconds a component may have to go on before another one can take what it has sent:
 * because of lags above 0 that one waits until then, itself or by way of others (lead.c).
 * @return 0; NOMEM */
int wio_cpl_conf_lead(const struct wio_cpl_conf *conf, const char *from, const char *to,
                      int64_t *lead);
/** The part of wio_cpl_conf_check() about waiting in a circle. */
int wio_cpl_conf_deadlock(struct wio_cpl_conf *conf);
/** The part about the components that the file tells of (conf_parts.c). */
int wio_cpl_conf_check_parts(struct wio_cpl_conf *conf);

/** The part about vectors of two variables (conf_vector.c). */
int wio_cpl_conf_check_vectors(struct wio_cpl_conf *conf);
/** The other component of the vector that a link is one of. @param[out] second the link is the
 * second one @return NULL: it is of none */
const struct wio_cpl_link *wio_cpl_conf_partner(const struct wio_cpl_conf *conf,
                                                const struct wio_cpl_link *link, bool *second);

/** Is a text what weight_method may be? @param[out] why at least 512 bytes; written when not */
bool wio_cpl_conf_is_method(const char *text, char *why, size_t room);

/** Does a weight_method limit gradients by the field's values? */
bool wio_cpl_conf_is_limited(const char *method);

/** Fingerprint of all links from one component to another, for comparing the files of both. */
uint64_t wio_cpl_conf_hash(const struct wio_cpl_conf *conf, const char *comp_put,
                           const char *comp_get);

#endif
