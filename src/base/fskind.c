/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fskind.h"

#include "base/base.h"
#include "os/os.h"

/* By the number that statfs(2) gives. Who is not here is taken for weak: a file system that is
 * stronger than we think is only slower. */
static const struct {
    uint32_t number;
    bool weak;
    const char *name;
} kinds[] = {{0x0000ef53, false, "ext4"},       {0x58465342, false, "xfs"},
             {0x9123683e, false, "btrfs"},      {0xf2f52010, false, "f2fs"},
             {0x2fc12fc1, false, "zfs"},        {0x01021994, false, "tmpfs"},
             {0x858458f6, false, "ramfs"},      {0x794c7630, false, "overlay"},
             {0x0bd00bd0, false, "Lustre"},     {0x47504653, false, "GPFS"},
             {0x00c36400, false, "CephFS"},     {0x01161970, false, "GFS2"},
             {0x7461636f, false, "OCFS2"},      {0xaad7aaea, false, "PanFS"},
             {0x00006969, true, "NFS"},         {0x65735546, true, "FUSE"},
             {0xff534d42, true, "CIFS"},        {0xfe534d42, true, "SMB"},
             {0x5346414f, true, "AFS"},         {0x01021997, true, "9P"},
             {0x19830326, true, "BeeGFS"},      {0x20030528, true, "OrangeFS"},
             {0x6b414653, true, "AFS (kernel)"}};

bool wio_fs_is_weak(const struct wio_config *cfg, int folder, const char **kind)
{
    struct wio_os_volume v;
    bool weak = true;
    const char *name = "an unknown file system";
    if (wio_os_volume(folder, &v) == 0)
        for (size_t i = 0; i < WIO_ARRAY_LEN(kinds); i++)
            if (kinds[i].number == v.kind) {
                weak = kinds[i].weak;
                name = kinds[i].name;
            }
    if (kind != NULL)
        *kind = name;
    if (cfg->file_system == WIO_CFG_FILE_SYSTEM_AUTO)
        return weak;
    return cfg->file_system == WIO_CFG_FILE_SYSTEM_CLOSE_TO_OPEN;
}
